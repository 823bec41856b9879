package tree

import (
	"fmt"
	"strconv"
	"strings"
)

// parseRecord reads a record: the means and what they have made, quoted.
func parseRecord(record string) (m Means, path string, err error) {
	means, quoted, found := strings.Cut(record, " ")
	path, err = strconv.Unquote(quoted)
	if !found || err != nil {
		return "", "", fmt.Errorf("reading record %q: it is not one of ours", record)
	}
	return Means(means), path, nil
}

// Hold sees to it that Sweep can do what a record asks for although somebody has
// removed the file by which it knows how. It is called while the program that has
// made the record lives, and may be called again.
func Hold(record string) {
	if m, path, err := parseRecord(record); err == nil {
		hold(m, path)
	}
}

// Sweep kills and removes all that a record names, soon after the end of the
// program that has made it. It may be called again. While that program lives it
// fails, after a while, and does nothing: the end of a program is not one moment.
func Sweep(record string) error {
	m, path, err := parseRecord(record)
	if err != nil {
		return err
	}
	if err := sweep(m, path); err != nil {
		return fmt.Errorf("sweeping %s: %w", record, err)
	}
	return nil
}
