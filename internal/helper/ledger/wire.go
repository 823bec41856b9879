package ledger

import (
	"bytes"
	"strconv"
)

// MaxRecord bounds the length of a record. A path of the system's maximum,
// 4 KiB, fits with room to spare.
const MaxRecord = 16 << 10

// maxLine is what a record of that length can grow to when it is quoted, with
// what is around it.
const maxLine = 4*MaxRecord + 16

// Fits tells whether a record can be put on a ledger over the wire.
func Fits(record string) bool { return record != "" && len(record) <= MaxRecord }

// AppendAdd appends the entry that puts a record on the ledger.
func AppendAdd(b []byte, record string) []byte { return appendEntry(b, '+', record) }

// AppendRemove appends the entry that takes a record off.
func AppendRemove(b []byte, record string) []byte { return appendEntry(b, '-', record) }

func appendEntry(b []byte, sign byte, record string) []byte {
	b = append(b, sign)
	if isPlain(record) {
		b = append(b, record...)
	} else {
		b = strconv.AppendQuoteToASCII(b, record)
	}
	return append(b, '\n')
}

// isPlain tells whether a record can stand on a line as it is, and is not taken
// for a quoted one.
func isPlain(record string) bool {
	for i := range len(record) {
		if record[i] < ' ' || record[i] > '~' {
			return false
		}
	}
	return record != "" && record[0] != '"'
}

// Decoder carries out entries on a ledger as they come in. The zero value
// begins at the beginning of a line.
type Decoder struct {
	line     []byte // the beginning of a line whose end has not come yet
	skipping bool   // the line is too long for an entry
}

// Feed takes what has been read, which may begin and end anywhere. A line whose
// end never comes is not carried out: only part of it may have been written.
func (d *Decoder) Feed(p []byte, to *Ledger) {
	for len(p) > 0 {
		part, rest, complete := bytes.Cut(p, []byte{'\n'})
		p = rest
		if !d.skipping && len(d.line)+len(part) <= maxLine {
			d.line = append(d.line, part...)
		} else {
			d.skipping = true
		}
		if !complete {
			return
		}
		if !d.skipping {
			apply(d.line, to)
		}
		d.line, d.skipping = d.line[:0], false
	}
}

// apply carries out one entry.
func apply(line []byte, to *Ledger) {
	if len(line) < 2 {
		return
	}
	record := string(line[1:])
	if record[0] == '"' {
		var err error
		if record, err = strconv.Unquote(record); err != nil {
			return
		}
	}
	if !Fits(record) {
		return
	}
	switch line[0] {
	case '+':
		to.Add(record)
	case '-':
		to.Remove(record)
	}
}
