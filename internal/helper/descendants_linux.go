package helper

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// isHeldBelow tells whether a descendant of this process has something open, which
// is called what /proc says that a descriptor is.
func isHeldBelow(what string) bool {
	self, err := strconv.Atoi(readLink("/proc/self"))
	if err != nil {
		return false
	}
	below := map[int]bool{0: false, 1: false, self: true}
	if self == 1 {
		below[1] = true
	}
	for _, name := range namesIn("/proc") {
		number, err := strconv.Atoi(name)
		if err == nil && number != self && isBelow(number, below) && holds(number, what) {
			return true
		}
	}
	return false
}

// isBelow tells whether a process has one that is known to be below among those
// that it descends from.
func isBelow(number int, below map[int]bool) bool {
	if known, ok := below[number]; ok {
		return known
	}
	below[number] = false // for a circle, which there is none of
	parent, ok := parentOf(number)
	below[number] = ok && isBelow(parent, below)
	return below[number]
}

func parentOf(number int) (int, bool) {
	// The name in parentheses may contain anything.
	text := readShort(procPath(number, "stat"))
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

func holds(number int, what string) bool {
	dir := procPath(number, "fd")
	for _, name := range namesIn(dir) {
		if readLink(dir+"/"+name) == what {
			return true
		}
	}
	return false
}

func namesIn(dir string) []string {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	names, _ := entries(fd)
	return names
}
