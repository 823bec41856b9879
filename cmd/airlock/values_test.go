package main

import (
	"encoding"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

func TestValues(t *testing.T) {
	t.Parallel()
	const (
		whole   = "expected a whole number of 1 or more"
		zero    = "number would be zero for non-zero type"
		digit   = "invalid digit found in string"
		large   = "number too large to fit in target type"
		nothing = "cannot parse integer from empty string"
		badTime = "expected a positive time such as 500ms, 80s or 2m30s"
	)
	tests := []struct {
		target encoding.TextUnmarshaler
		text   string
		err    string
	}{
		{new(peerCount), "1", ""},
		{new(peerCount), "+12", ""},
		{new(peerCount), "18446744073709551615", ""},
		{new(peerCount), "0", zero},
		{new(peerCount), "000", zero},
		{new(peerCount), "", nothing},
		{new(peerCount), "abc", digit},
		{new(peerCount), "-1", digit},
		{new(peerCount), "++1", digit},
		{new(peerCount), "1_000", digit},
		{new(peerCount), "0x10", digit},
		{new(peerCount), " 1", digit},
		{new(peerCount), "18446744073709551616", large},
		{new(count), "1", ""},
		{new(count), "+12", ""},
		{new(count), "18446744073709551615", ""},
		{new(count), "0", whole},
		{new(count), "000", whole},
		{new(count), "", whole},
		{new(count), "abc", whole},
		{new(count), "-1", whole},
		{new(count), "++1", whole},
		{new(count), "1_000", whole},
		{new(count), "0x10", whole},
		{new(count), " 1", whole},
		{new(count), "18446744073709551616", "expected a whole number, of at most 18446744073709551615"},
		{new(seconds), "0", ""},
		{new(seconds), "1.5", digit},
		{new(duration), "1ms", ""},
		{new(duration), "1h2m3s", ""},
		{new(duration), "0", badTime},
		{new(duration), "0s", badTime},
		{new(duration), "-1s", badTime},
		{new(duration), "80", badTime},
		{new(duration), "", badTime},
		{new(duration), "99999999h", badTime},
	}
	for _, test := range tests {
		got := ""
		if err := test.target.UnmarshalText([]byte(test.text)); err != nil {
			got = err.Error()
		}
		if got != test.err {
			t.Errorf("%T from %q: error %q, want %q", test.target, test.text, got, test.err)
		}
	}
}

func TestCountAsInt(t *testing.T) {
	t.Parallel()
	if got := count(math.MaxUint64).int(); got != math.MaxInt {
		t.Errorf("int() of the largest count is %d", got)
	}
	if got := count(5000).atMost(1024); got != 1024 {
		t.Errorf("atMost(1024) of 5000 is %d", got)
	}
}

func TestDurationString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"80s": "1m20s", "120s": "2m", "1h": "1h", "90m": "1h30m", "1h0m5s": "1h0m5s", "10s": "10s", "1500ms": "1.5s",
	} {
		var d, again duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if d.String() != want {
			t.Errorf("%s becomes %s, want %s", text, d, want)
		}
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%s is read back as %v, %v", d, again, err)
		}
	}
}

// TestDefaults asserts that the defaults on the command line are those in package
// limits. They are repeated because kong takes longer to fill in variables than
// for everything else.
func TestDefaults(t *testing.T) {
	t.Parallel()
	cli, _, err := parse(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]any{
		"session-ttl":       {time.Duration(cli.Serve.SessionTTL), limits.SessionTTL},
		"process-retention": {time.Duration(cli.Serve.ProcessRetention), limits.ProcessRetention},
		"stall-timeout":     {time.Duration(cli.Serve.StallTimeout), limits.StallTimeout},
		"stall-drop":        {time.Duration(cli.Serve.StallDrop), limits.StallDrop},
		"spill-bytes":       {int64(cli.Serve.SpillBytes), int64(limits.SpillBytes)},
		"spill-total-bytes": {int64(cli.Serve.SpillTotalBytes), int64(limits.SpillTotalBytes)},
		"ping-interval":     {time.Duration(cli.Serve.PingInterval), limits.PingInterval},
		"ping-timeout":      {time.Duration(cli.Serve.PingTimeout), limits.PingTimeout},
		"max-connections":   {cli.Serve.MaxConnections.int(), limits.Connections},
		"max-sessions":      {cli.Serve.MaxSessions.int(), limits.Sessions},
		"http-max-body":     {int64(cli.Serve.HTTPMaxBody), int64(limits.HTTPBodyBytes)},
		"max-processes":     {cli.Serve.MaxProcesses.int(), limits.ProcessesPerSession},
	} {
		if pair[0] != pair[1] {
			t.Errorf("--%s is %v by default; package limits has %v", name, pair[0], pair[1])
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1000": 1000, "64KiB": 64 << 10, "256MiB": 256 << 20, "4GiB": 4 << 30,
		"9223372036854775807": math.MaxInt64,
	} {
		var s, again size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want || s.String() != text {
			t.Errorf("%s is read as %d, %v", text, s, err)
		}
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Errorf("%s is read back as %v, %v", s, again, err)
		}
	}
	for text, want := range map[string]int64{"512M": 512 << 20, "1G": 1 << 30, "64K": 64 << 10} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want {
			t.Errorf("%s is read as %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "-1", "MiB", "M", "1MK", "9000000000G", "1.5GiB", "1MB", "1 MiB", "1mib", "9223372036854775808", "9000000000GiB"} {
		if err := new(size).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "256MiB") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
