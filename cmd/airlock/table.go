package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// table is rows of printable texts below a heading.
type table struct {
	heading []string
	right   []bool // columns that are flush right
	rows    [][]string
}

// maxIDWidth is how wide the id of a process is shown. What has been cut off is
// not needed to choose it.
const maxIDWidth = 36

// add adds a row. An empty text is shown as a hyphen.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		if cell == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// lines returns the lines of the table, which are cut to a number of columns; 0
// means that they are not.
func (t *table) lines(columns int) []string {
	widths := make([]int, len(t.heading))
	all := append([][]string{t.heading}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		var b strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-width(cell))
			switch last := i == len(row)-1; {
			case i < len(t.right) && t.right[i]:
				b.WriteString(space + cell)
			case last:
				b.WriteString(cell)
			default:
				b.WriteString(cell + space)
			}
			if i < len(row)-1 {
				b.WriteString("  ")
			}
		}
		lines[n] = b.String()
		if columns > 0 {
			lines[n] = cut(lines[n], columns)
		}
	}
	return lines
}

// terminalWidth returns how wide the terminal is that a file is, or 0 if it is
// none.
func terminalWidth(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// age shows a length of time, roughly.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// since is the age of something that has happened so many milliseconds after 1970.
func since(ms int64) string { return age(time.Since(time.UnixMilli(ms))) }

// bytesText shows a number of bytes, roughly.
func bytesText(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1023.5 {
		value /= 1024
		unit++
	}
	digits := 0
	if value < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + units[unit:unit+1]
}
