package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestFeatures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" , ", nil},
		{"takeover", []string{"takeover"}},
		{"processList, processLimits,", []string{"processList", "processLimits"}},
		{"all", protocol.Features()},
		{"environmentConfigRead,capabilityDiscoveryV2", []string{"environmentConfigRead", "capabilityDiscoveryV2"}},
	} {
		var f features
		if err := f.UnmarshalText([]byte(test.text)); err != nil || !slices.Equal(f.names(), test.want) {
			t.Errorf("%q: %q, %v; want %q", test.text, f.names(), err, test.want)
		}
	}
	for _, text := range []string{"x", "takeover,x", "Takeover", "takeover processList"} {
		var f features
		if err := f.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "processSignal") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
