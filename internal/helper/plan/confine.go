package plan

// Confinement is what a program is confined to. The daemon has decided
// everything: nothing here is looked up, searched or judged again, so that what
// the helper does can be read off it.
type Confinement struct {
	// Isolated tells that the helper is the first process of namespaces of its
	// own (user, mount, process, IPC), in which it builds a root. Without that it
	// is an ordinary process, Base and Mounts mean nothing, and what confines the
	// program are Filter and Landlock.
	Isolated bool
	// Base is what the root shows before Mounts.
	Base Base
	// Mounts are made in this order, each on top of what is there then.
	Mounts []Mount
	// OuterProc shows the processes of the host, read-only, where a /proc of its
	// own can't be mounted and the operator has allowed it.
	OuterProc bool
	// Offline tells that there is a network namespace of its own, with nothing
	// in it but loopback, which is brought up.
	Offline bool
	// Listen are TCP ports to listen on at 127.0.0.1 in that namespace. The
	// sockets are handed to the daemon, in this order, before the program is
	// executed.
	Listen []uint16
	// Filter is a seccomp program, an array of struct sock_filter as the kernel
	// takes it; empty means none.
	Filter []byte
	// Sockets says which Unix sockets may be connected to, which the helper
	// judges, if Filter asks for judgement.
	Sockets Sockets
	// Landlock are the rules of that kind; nil means none.
	Landlock *Landlock
	// Privileged leaves the program the capabilities that the daemon has. It is
	// set only where nothing is restricted.
	Privileged bool
}

// Base is what a root shows to begin with.
type Base byte

// Bases. Each has a /dev and a /proc of its own.
const (
	ReadOnly Base = iota + 1 // all of the host, read-only
	Writable                 // all of the host
	Nothing                  // an empty directory; read-only in the end
)

// Mount is one step in building a root.
type Mount struct {
	Kind MountKind
	// Path is absolute, free of links, and the same inside as outside.
	Path string
	// Mode is that of the file or directory that covers what is there.
	Mode uint32
	// Inner are directories, relative to Path, that a covering directory has:
	// where later mounts go.
	Inner []string
	// Target is what a link points to, as it stands in the link.
	Target string
}

// MountKind is what a mount does.
type MountKind byte

// Kinds. Where the base is Nothing, or something covers the path, what is to be
// mounted on is made first; elsewhere it has to be there.
const (
	BindReadOnly   MountKind = iota + 1 // shows what the host has there, read-only, all below included
	BindWritable                        // the same, writable
	CoverDirectory                      // puts an empty directory there that can't be written
	CoverFile                           // puts an empty file there that can't be written
	Link                                // makes a symbolic link where there is nothing: in the base Nothing, or in what covers
	CoverLink                           // is CoverFile for a symbolic link, and not for where that leads
)

// Sockets are the Unix sockets of the host that a program may connect to.
type Sockets struct {
	All bool
	// Paths are sockets, or directories with all below.
	Paths []string
	// Abstract allows those without a path that are not the program's own.
	Abstract bool
}

// Landlock is a Landlock ruleset. Rights are the kernel's LANDLOCK_ACCESS_* and
// LANDLOCK_SCOPE_* bits; none is set that the kernel does not know.
type Landlock struct {
	HandledFiles, HandledNetwork, Scoped uint64
	Rules                                []LandlockRule
}

// LandlockRule grants rights to a file, or to all below a directory.
type LandlockRule struct {
	Path   string
	Rights uint64
}

// Denial is something that the program has tried and was not let do, as far as
// that is seen.
type Denial struct {
	What    string // the system call
	Path    string // of a socket; empty if that is not what was denied
	Address string // family or address
	Count   uint64 // how often, since the last report of the same
}

// End is how a program has ended.
type End struct {
	Code   int // the exit code, 128 + Signal if it was killed
	Signal int // 0 if it has exited
}
