package escape

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// policy is what the attempts are made under.
type policy string

const (
	readOnly       policy = "read-only"
	workspaceWrite policy = "workspace-write"
	restrictedRead policy = "restricted-read"
	networkOpen    policy = "network-open"
	managed        policy = "managed"
	// Read-only, and without namespaces.
	landlocked   policy = "landlock"
	landlockOpen policy = "landlock-network-open"
)

// scene is what there is to be attacked.
type scene struct {
	Policy   policy
	Base     string // of all that belongs to it
	Victim   int    // the process id of one outside, which has Marker in its environment
	UID      int
	Port     int    // on the host's loopback, which nobody has allowed
	Abstract string // on which somebody outside listens
}

func (s *scene) at(name string) string { return s.Base + "/" + name }

// attempt is one thing that a hostile program tries.
type attempt struct {
	name string
	try  func(s *scene) error
	// want are the errors, with spaces between, of which one has to come: by
	// policy, and without a policy for all others. An empty text means that the
	// attempt is not made.
	want map[policy]string
}

// always wants the same under every policy.
func always(want string) map[policy]string { return map[policy]string{"": want} }

func (a *attempt) wanted(p policy) string {
	look := []policy{p}
	if p == landlockOpen {
		look = []policy{p, networkOpen, landlocked}
	}
	for _, p := range append(look, "") {
		if want, ok := a.want[p]; ok {
			return want
		}
	}
	return ""
}

// got is an outcome that is not an error of the system.
type got string

func (g got) Error() string { return string(g) }

const sceneVariable = "AIRLOCK_ESCAPE"

// init makes the attempts, if this program is the one that is confined, before
// anything else has opened descriptors.
func init() {
	text := os.Getenv(sceneVariable)
	if text == "" {
		return
	}
	var s scene
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		roles[os.Args[1]](&s)
		os.Exit(0)
	}
	for _, list := range [][]attempt{inherited, writes, reads, processes, sockets, kernel} {
		for _, a := range list {
			if a.wanted(s.Policy) != "" {
				fmt.Printf("%s\t%s\n", a.name, outcome(a.try(&s)))
			}
		}
	}
	os.Exit(0)
}

// outcome is what became of an attempt, in one word.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if errno == 0 {
			return "ok"
		}
		return unix.ErrnoName(errno)
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func raw(number uintptr, args ...uintptr) error {
	args = append(args, make([]uintptr, 6-len(args))...)
	_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
	return errno
}

// open opens a file and closes it.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o666)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// all returns the first attempt of several that does not fail as the first one
// did: they have to fail alike.
func all(errs ...error) error {
	for _, err := range errs[1:] {
		if outcome(err) != outcome(errs[0]) {
			var words []string
			for _, err := range errs {
				words = append(words, outcome(err))
			}
			return got(strings.Join(words, ","))
		}
	}
	return errs[0]
}
