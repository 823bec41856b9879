package main

import (
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		options options
		rest    []string
		want    string // of the error; "" is none
	}{
		{options{}, nil, ""},
		{options{quick: true, rounds: 3, only: "spawn", check: true, json: "x"}, nil, ""},
		{options{against: "b", only: "spawn", json: "x"}, nil, ""},
		{options{writeBaseline: "b", trials: 10}, nil, ""},
		{options{}, []string{"spawn"}, `"spawn"`},
		{options{rounds: -1}, nil, "--rounds -1"},
		{options{against: "b", writeBaseline: "b", trials: 10}, nil, "exclude"},
		{options{against: "b", quick: true}, nil, "--quick"},
		{options{writeBaseline: "b", trials: 10, rounds: 2}, nil, "--rounds"},
		{options{writeBaseline: "b", trials: 10, only: "spawn"}, nil, "--only"},
		{options{writeBaseline: "b", trials: 2}, nil, "--trials 2"},
	} {
		err := test.options.verify(test.rest)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want %q", test.options, err, test.want)
		}
	}
}

func TestSize(t *testing.T) {
	for want, o := range map[string]options{
		"full 5": {}, "quick 2": {quick: true}, "quick 7": {quick: true, rounds: 7},
		"check 9": {against: "b"}, "check 9 ": {writeBaseline: "b"},
	} {
		size := o.size()
		name, rounds, _ := strings.Cut(strings.TrimSpace(want), " ")
		if size.name != name || string(rune('0'+size.rounds)) != rounds {
			t.Errorf("%+v: %s %d, want %s", o, size.name, size.rounds, want)
		}
	}
}
