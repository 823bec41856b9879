package seccomp

import "slices"

// call is a system call that is looked at, with its numbers. There is none where
// the number is negative.
type call struct {
	name         string
	amd64, arm64 int
}

// treatment is what becomes of a call.
type treatment int

// Treatments.
const (
	allow        treatment = iota
	deny                   // EPERM
	denyReported           // EPERM, of which the helper is told
	missing                // ENOSYS, so that callers use what there was before
	judge                  // the helper carries it out, or does not
	socket                 // by family, and by type where no connect is needed
	socketPair             // the same
	cloneFlags             // not with flags that make namespaces
	unshareFlags           // the same
	terminal               // not what puts input into terminals
	lookUpKey              // not with a text for the host's own program
	ownLimits              // not of processes that are named
)

// sockets are the calls on sockets that are denied in the restricted mode.
// The others are needed for those that programs are given: sendmsg,
// recvmsg, recvfrom, read and write. getsockname, getpeername and getsockopt only
// ask; Bash takes its input for a connection if it can't, and reads ~/.bashrc.
var sockets = []call{
	{"accept", 43, 202},
	{"accept4", 288, 242},
	{"listen", 50, 201},
	{"setsockopt", 54, 208},
	{"shutdown", 48, 210},
	{"recvmmsg", 299, 243},
	{"sendmmsg", 307, 269},
}

// reaching are those of them that name what a program wants to reach.
var reaching = []call{
	{"connect", 42, 203},
	{"bind", 49, 200},
	{"sendto", 44, 206},
}

// peeking are the calls that look into other processes, or take something out of
// them. Where the network is open debuggers work, on processes inside.
var peeking = []call{
	{"ptrace", 101, 117},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
}

var (
	socketCall     = call{"socket", 41, 198}
	socketPairCall = call{"socketpair", 53, 199}
	connectCall    = call{"connect", 42, 203}
	requestKeyCall = call{"request_key", 249, 218}
	ioctlCall      = call{"ioctl", 16, 29}
	takeFileCall   = call{"pidfd_getfd", 438, 438}
	limitsCall     = call{"prlimit64", 302, 261}
	cloneCall      = call{"clone", 56, 220}
	unshareCall    = call{"unshare", 272, 97}
	// It says in memory what clone says by flags, and a filter does not see that.
	clone3Call = call{"clone3", 435, 435}
)

// never are the calls that no policy leaves. Some take capabilities that a
// program has not in any case; those are here because of what faults in them
// would be worth. What only takes a capability, as to set the clock, is not.
var never = []call{
	// Another way to make system calls, which filters do not see.
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	// The keys of the user, which a sandbox inherits with the session.
	{"add_key", 248, 217},
	{"keyctl", 250, 219},
	// The host's own log, and what is measured of all its programs.
	{"syslog", 103, 116},
	{"perf_event_open", 298, 241},
	// Code for the kernel.
	{"bpf", 321, 280},
	{"init_module", 175, 105},
	{"finit_module", 313, 273},
	{"delete_module", 176, 106},
	{"kexec_load", 246, 104},
	{"kexec_file_load", 320, 294},
	// Holds up the kernel in the middle of its work, for attacks on it.
	{"userfaultfd", 323, 282},
	// Files by number, past all that hides them.
	{"open_by_handle_at", 304, 265},
}

// rooms are the calls that namespaces and their roots are made with.
var rooms = []call{
	{"setns", 308, 268},
	{"mount", 165, 40},
	{"umount2", 166, 39},
	{"pivot_root", 155, 41},
	{"chroot", 161, 51},
	{"open_tree", 428, 428},
	{"move_mount", 429, 429},
	{"fsopen", 430, 430},
	{"fsconfig", 431, 431},
	{"fsmount", 432, 432},
	{"fspick", 433, 433},
	{"mount_setattr", 442, 442},
	{"open_tree_attr", 467, 467},
}

// treat returns what becomes of the calls that are looked at, by their numbers.
func treat(a *architecture, o Options) map[uint32]treatment {
	table := map[uint32]treatment{}
	add := func(t treatment, calls ...call) {
		for _, c := range calls {
			table[a.number(c)] = t
		}
	}
	add(denyReported, never...)
	add(socket, socketCall)
	add(socketPair, socketPairCall)
	add(terminal, ioctlCall)
	add(ownLimits, limitsCall)
	if o.Mode == Restricted {
		add(deny, sockets...)
		add(denyReported, reaching...)
	}
	if o.Mode == Open {
		add(lookUpKey, requestKeyCall)
	} else {
		add(denyReported, slices.Concat(peeking, []call{requestKeyCall})...)
	}
	if o.Judge {
		add(judge, connectCall)
	}
	if !o.Nested {
		add(denyReported, rooms...)
		add(cloneFlags, cloneCall)
		add(unshareFlags, unshareCall)
		add(missing, clone3Call)
		if o.Mode != Open {
			add(denyReported, takeFileCall)
		}
	}
	for _, n := range a.stray {
		table[n] = deny
	}
	return table
}
