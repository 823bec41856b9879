package rpc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// checkBounds refuses a message that nests too deeply or holds too many values.
//
// Counting needs a look at every byte, so it is done only for messages that
// hold enough separators to reach a bound at all: every value but the first
// follows an opening bracket or a comma, directly or behind its name.
func checkBounds(data []byte) error {
	opens := bytes.Count(data, []byte{'{'}) + bytes.Count(data, []byte{'['})
	if opens <= limits.JSONDepth && 1+opens+bytes.Count(data, []byte{','}) <= limits.JSONValues {
		return nil
	}
	return countExactly(data)
}

// countExactly walks the structure of data. What it makes of text that is not
// JSON does not matter: the decoder refuses that later.
func countExactly(data []byte) error {
	var values, depth int
	count := func(at int) error {
		values++
		if values > limits.JSONValues {
			return fmt.Errorf("JSON-RPC message exceeds the limit of %d JSON values at %s",
				limits.JSONValues, position(data, at))
		}
		return nil
	}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		case '}', ']':
			depth--
		case '{', '[':
			depth++
			if depth > limits.JSONDepth {
				return fmt.Errorf("recursion limit exceeded at %s", position(data, i))
			}
			if err := count(i); err != nil {
				return err
			}
		case '"':
			end := stringEnd(data, i)
			if !followedByColon(data, end) {
				if err := count(i); err != nil {
					return err
				}
			}
			i = end - 1
		default:
			if err := count(i); err != nil {
				return err
			}
			for i+1 < len(data) && strings.IndexByte(" \t\r\n,:]}{[\"", data[i+1]) < 0 {
				i++
			}
		}
	}
	return nil
}

// stringEnd returns the index behind the string that starts at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// followedByColon tells whether the next thing from i on is a colon, which
// makes the string before it a member name.
func followedByColon(data []byte, i int) bool {
	for ; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return data[i] == ':'
		}
	}
	return false
}

// position describes an offset as people count: from one, in bytes.
func position(data []byte, offset int) string {
	offset = min(max(offset, 0), len(data))
	line := 1 + bytes.Count(data[:offset], []byte{'\n'})
	column := offset - bytes.LastIndexByte(data[:offset], '\n')
	return fmt.Sprintf("line %d column %d", line, column)
}
