package confined

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/sandbox"
)

// key tells confinements apart. It is the same for plans that come to the same on
// the host as it is.
type key [sha256.Size]byte

// keyOf returns the key of a plan. Besides what the plan says it is about what is at
// the paths of the mounts at this time: a directory that has taken the place of
// another one is not what a worker has mounted that is older. era is about the
// mounts of the host. What others put at a mount point, or take away, is covered
// anyway.
func keyOf(p *sandbox.Plan, era uint64) key {
	h := hasher{Hash: sha256.New()}
	h.numbers(era, uint64(p.Kind), uint64(p.Base), uint64(p.Network), uint64(len(p.Mounts)))
	points := make(map[string]bool, len(p.Points))
	for _, point := range p.Points {
		points[point.Path] = true
	}
	for i := range p.Mounts {
		m := &p.Mounts[i]
		h.numbers(uint64(m.Kind), uint64(m.Mode))
		h.text(m.Path)
		h.texts(m.Inner)
		if !points[m.Path] {
			h.place(m.Path)
		}
	}
	h.flag(p.Sockets.All)
	h.flag(p.Sockets.Abstract)
	h.texts(p.Sockets.Paths)
	// What a plan comes to without namespaces.
	for _, list := range [][]string{p.Readable, p.Writable, p.Denied} {
		h.texts(list)
		for _, path := range list {
			h.place(path)
		}
	}
	return key(h.Sum(nil))
}

// hasher hashes things such that no two lists of them look the same.
type hasher struct {
	hash.Hash
	buf []byte
}

func (h *hasher) numbers(numbers ...uint64) {
	h.buf = h.buf[:0]
	for _, n := range numbers {
		h.buf = binary.LittleEndian.AppendUint64(h.buf, n)
	}
	h.Write(h.buf)
}

func (h *hasher) flag(is bool) {
	if is {
		h.numbers(1)
	} else {
		h.numbers(0)
	}
}

func (h *hasher) text(s string) {
	h.numbers(uint64(len(s)))
	h.buf = append(h.buf[:0], s...)
	h.Write(h.buf)
}

func (h *hasher) texts(list []string) {
	h.numbers(uint64(len(list)))
	for _, s := range list {
		h.text(s)
	}
}

// place adds what is at a path. The time of its making is for numbers that are used
// again.
func (h *hasher) place(path string) {
	const about = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME | unix.STATX_MNT_ID
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, about, &st); err != nil {
		h.numbers(0)
		return
	}
	h.numbers(1, uint64(st.Mode&unix.S_IFMT), uint64(st.Dev_major)<<32|uint64(st.Dev_minor), st.Ino, st.Mnt_id,
		uint64(st.Btime.Sec), uint64(st.Btime.Nsec))
}
