package plan

import "encoding/binary"

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
}

func appendFlag(b []byte, flag bool) []byte {
	if flag {
		return append(b, 1)
	}
	return append(b, 0)
}

// decoder takes things off the front. Once something is bad nothing comes any
// more.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if d.bad || size <= 0 || size > 1 && d.rest[size-1] == 0 { // as short as can be
		d.bad = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// small returns a number that is not negative as an int of any size.
func (d *decoder) small() int {
	n := d.number()
	if n > 1<<31-1 {
		d.bad = true
		return 0
	}
	return int(n)
}

// count returns how many things follow: no more than there are bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count()
	if d.bad {
		return ""
	}
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) texts() []string {
	n := d.count()
	texts := make([]string, 0, n)
	for range n {
		texts = append(texts, d.text())
	}
	return texts
}

func (d *decoder) byte() byte {
	if d.bad || len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	c := d.rest[0]
	d.rest = d.rest[1:]
	return c
}

func (d *decoder) flag() bool {
	c := d.byte()
	d.bad = d.bad || c > 1
	return c == 1
}

// inRange returns a byte from 1 to last.
func (d *decoder) inRange(last byte) byte {
	c := d.byte()
	d.bad = d.bad || c == 0 || c > last
	return c
}
