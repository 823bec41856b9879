package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]target{
		"3f2a":       {"3f2a", ""},
		"3F2A-b/run": {"3f2a-b", "run"},
		"0/a/b/":     {"0", "a/b/"},
		"0/ ":        {"0", " "},
	} {
		if got, err := parseTarget(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":      "expected SESSION or SESSION/PROCESS",
		"/run":  "expected SESSION or SESSION/PROCESS",
		"run":   "expected SESSION or SESSION/PROCESS",
		"3f 2a": "expected SESSION or SESSION/PROCESS",
		"3f2a/": "the process is missing behind the slash",
		"\x1b[": `"\x1b["`,
	} {
		if got, err := parseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want an error with %s", text, got, err, want)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("3f2a/run")
	f.Add("/")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\x07\n") {
				t.Errorf("the error %q is dangerous", err)
			}
			return
		}
		if got.session == "" || strings.Contains(got.session, "/") || !strings.HasSuffix(text, got.process) {
			t.Errorf("got %q", got)
		}
	})
}

// sessions makes executors with sessions of these ids.
func sessions(ids ...string) []*operated {
	first, second := &operated{socket: "1"}, &operated{socket: "2"}
	for i, id := range ids {
		o := first
		if i%2 == 1 {
			o = second
		}
		o.sessions = append(o.sessions, protocol.SessionInfo{SessionID: id, ClientName: "agent\x1b[2J"})
	}
	return []*operated{first, second}
}

func TestFindSession(t *testing.T) {
	t.Parallel()
	all := sessions("3f2a1111-aaaa", "3f2b2222-bbbb", "44445555-cccc")
	for text, want := range map[string]string{"3f2a": "3f2a1111", "4": "44445555", "3f2b2222-bbbb": "3f2b2222"} {
		p, err := parseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := p.find(t.Context(), all); err != nil || f.String() != want || f.process != nil {
			t.Errorf("%s: got %v, %v", text, f, err)
		}
	}
	for text, want := range map[string][]string{
		"3f2":  {"several begin like that", "3f2a1111", "3f2b2222"},
		"5":    {"none begins like that", "3f2a1111", "44445555", `agent\x1b[2J`},
		"3f2c": {"none begins like that"},
	} {
		p, err := parseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.find(t.Context(), all)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) || strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("%s: got %v, want %s", text, err, part)
			}
		}
	}
	if _, err := (target{session: "3"}).find(t.Context(), sessions()); err == nil || !strings.Contains(err.Error(), "no sessions") {
		t.Errorf("without sessions: %v", err)
	}
	many := slices.Repeat([]string{"3f2a1111-aaaa"}, 30)
	if _, err := (target{session: "3"}).find(t.Context(), sessions(many...)); err == nil || !strings.HasSuffix(err.Error(), " and 20 more") {
		t.Errorf("with many sessions: %v", err)
	}
}

func TestChooseProcess(t *testing.T) {
	t.Parallel()
	var processes []protocol.ProcessInfo
	for _, id := range []string{"run", "run2", "a/b", "\x1b[31mred", `\x1b[31mred`, "ünï"} {
		processes = append(processes, protocol.ProcessInfo{ProcessID: id})
	}
	for text, want := range map[string]string{
		"run": "run", "run2": "run2", "a": "a/b", "a/": "a/b", "ü": "ünï", "\x1b[3": "\x1b[31mred", `\\x1b`: `\x1b[31mred`,
	} {
		if p, err := (target{process: text}).chooseProcess(processes); err != nil || p.ProcessID != want {
			t.Errorf("%q: got %v, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{
		"ru": "several begin like that: run, run2", "x": "none begins like that; there are run, run2, a/b, ",
		`\x1b[31mred`: "several begin like that",
	} {
		if p, err := (target{process: text}).chooseProcess(processes); err == nil || !strings.Contains(err.Error(), want) ||
			strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%q: got %v, %v", text, p, err)
		}
	}
	if _, err := (target{process: "x"}).chooseProcess(nil); err == nil || !strings.Contains(err.Error(), "no processes") {
		t.Errorf("without processes: %v", err)
	}
}
