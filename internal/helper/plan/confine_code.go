package plan

import "encoding/binary"

// append appends an encoded confinement, which may be nil.
func (c *Confinement) append(b []byte) []byte {
	if c == nil {
		return appendFlag(b, false)
	}
	b = appendFlag(b, true)
	b = appendFlag(b, c.Isolated)
	b = append(b, byte(c.Base))
	b = binary.AppendUvarint(b, uint64(len(c.Mounts)))
	for _, m := range c.Mounts {
		b = append(b, byte(m.Kind))
		b = appendText(b, m.Path)
		b = binary.AppendUvarint(b, uint64(m.Mode))
		b = appendTexts(b, m.Inner)
		b = appendText(b, m.Target)
	}
	b = appendFlag(b, c.OuterProc)
	b = appendFlag(b, c.Offline)
	b = binary.AppendUvarint(b, uint64(len(c.Listen)))
	for _, port := range c.Listen {
		b = binary.AppendUvarint(b, uint64(port))
	}
	b = appendText(b, string(c.Filter))
	b = appendFlag(b, c.Sockets.All)
	b = appendTexts(b, c.Sockets.Paths)
	b = appendFlag(b, c.Sockets.Abstract)
	b = c.Landlock.append(b)
	return appendFlag(b, c.Privileged)
}

func (l *Landlock) append(b []byte) []byte {
	if l == nil {
		return appendFlag(b, false)
	}
	b = appendFlag(b, true)
	b = binary.AppendUvarint(b, l.HandledFiles)
	b = binary.AppendUvarint(b, l.HandledNetwork)
	b = binary.AppendUvarint(b, l.Scoped)
	b = binary.AppendUvarint(b, uint64(len(l.Rules)))
	for _, r := range l.Rules {
		b = appendText(b, r.Path)
		b = binary.AppendUvarint(b, r.Rights)
	}
	return b
}

func (d *decoder) confinement() *Confinement {
	if !d.flag() {
		return nil
	}
	c := &Confinement{Isolated: d.flag()}
	if c.Base = Base(d.byte()); c.Base > Nothing || c.Isolated && c.Base == 0 {
		d.bad = true
	}
	for range d.count() {
		m := Mount{Kind: MountKind(d.inRange(byte(CoverLink))), Path: d.text(), Mode: uint32(d.small())}
		m.Inner, m.Target = d.optionalTexts(), d.text()
		c.Mounts = append(c.Mounts, m)
	}
	c.OuterProc, c.Offline = d.flag(), d.flag()
	for range d.count() {
		port := d.number()
		d.bad = d.bad || port > 1<<16-1
		c.Listen = append(c.Listen, uint16(port))
	}
	if filter := d.text(); filter != "" {
		c.Filter = []byte(filter)
	}
	c.Sockets = Sockets{All: d.flag(), Paths: d.optionalTexts(), Abstract: d.flag()}
	c.Landlock = d.landlock()
	c.Privileged = d.flag()
	return c
}

func (d *decoder) landlock() *Landlock {
	if !d.flag() {
		return nil
	}
	l := &Landlock{HandledFiles: d.number(), HandledNetwork: d.number(), Scoped: d.number()}
	for range d.count() {
		l.Rules = append(l.Rules, LandlockRule{d.text(), d.number()})
	}
	return l
}

// optionalTexts returns nil for none.
func (d *decoder) optionalTexts() []string {
	if texts := d.texts(); len(texts) > 0 {
		return texts
	}
	return nil
}
