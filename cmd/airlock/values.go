package main

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// count is a positive whole number.
type count uint64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *count) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "+"), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("expected a whole number, of at most %d", uint64(math.MaxUint64))
	case err != nil || n == 0:
		return errors.New("expected a whole number of 1 or more")
	}
	*c = count(n)
	return nil
}

// peerCount is a [count] of a flag that the Codex exec-server has, too.
type peerCount count

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *peerCount) UnmarshalText(text []byte) error {
	n, err := parseUint(string(text))
	if err == nil && n == 0 {
		err = errors.New("number would be zero for non-zero type")
	}
	*c = peerCount(n)
	return err
}

// atMost returns the count, but no more than a bound.
func (c count) atMost(bound int) int { return int(min(uint64(c), uint64(bound))) }

// int returns the count, or the largest int: as a bound they are the same.
func (c count) int() int { return c.atMost(math.MaxInt) }

// seconds is a whole number of seconds.
type seconds uint64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *seconds) UnmarshalText(text []byte) error {
	n, err := parseUint(string(text))
	*s = seconds(n)
	return err
}

// parseUint words its errors as the peer does.
func parseUint(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
	switch {
	case text == "":
		return 0, errors.New("cannot parse integer from empty string")
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("number too large to fit in target type")
	case err != nil:
		return 0, errors.New("invalid digit found in string")
	}
	return n, nil
}

// duration is a positive length of time. Zero is refused: to some it would mean
// "at once", to others "never", and to package server "the default".
type duration time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed <= 0 {
		return errors.New("expected a positive time such as 500ms, 80s or 2m30s")
	}
	*d = duration(parsed)
	return nil
}

// String returns the shortest text that UnmarshalText reads: 80s is 1m20s, but
// 2m0s is 2m.
func (d duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// size is a number of bytes.
type size int64

// units of [size], largest first, and their short names, which mean the same as
// with systemd and docker.
var units = []struct {
	name, short string
	bytes       int64
}{{"GiB", "G", 1 << 30}, {"MiB", "M", 1 << 20}, {"KiB", "K", 1 << 10}, {"", "", 1}}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *size) UnmarshalText(text []byte) error {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			digits, ok = strings.CutSuffix(string(text), unit.short)
		}
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || int64(n) > math.MaxInt64/unit.bytes {
			break
		}
		*s = size(int64(n) * unit.bytes)
		return nil
	}
	return errors.New("expected a number of bytes such as 0, 65536, 512KiB, 256MiB or 4GiB; K, M and G mean the same")
}

// String returns the shortest text that UnmarshalText reads.
func (s size) String() string {
	for _, unit := range units {
		if n := int64(s); n != 0 && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return "0"
}

// valueError says what is wrong with the value of a flag.
type valueError struct {
	flag   *kong.Flag
	text   string
	reason error
}

func (e *valueError) Error() string {
	return fmt.Sprintf("invalid value '%s' for '--%s <%s>': %v",
		e.text, e.flag.Name, e.flag.FormatPlaceHolder(), e.reason)
}

// textMapper reads flags whose type implements [encoding.TextUnmarshaler], or
// points to one that does.
type textMapper struct{}

// Decode implements [kong.Mapper].
func (textMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	err = target.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	if err != nil {
		return &valueError{ctx.Value.Flag, text, err}
	}
	return nil
}

// stringMapper reads strings.
type stringMapper struct{}

// Decode implements [kong.Mapper].
func (stringMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	target.SetString(text)
	return nil
}

// popText takes the next word of the command line.
func popText(ctx *kong.DecodeContext) (string, error) {
	switch next := ctx.Scan.Peek(); {
	case next.IsEOL():
		return "", errors.New("a value is missing")
	case !next.IsValue() && !isNegative(next.String()):
		return "", fmt.Errorf("a value is missing before %s; one that begins with a hyphen is given as --%s=VALUE",
			next, ctx.Value.Name)
	}
	return ctx.Scan.Pop().String(), nil
}

// isNegative tells negative numbers from flags: no flag is a digit.
func isNegative(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9'
}
