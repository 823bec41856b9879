package helper

import (
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// workshop is where a root is built: a file system on top of the host's root,
// where nobody finds it, that no copy of the host's mounts takes along. It is
// prepared before anybody knows for what.
type workshop struct {
	host      int // the host's root
	stage     int // the workshop's root
	covers    int // a file system whose files and directories cover others
	dev, proc int // ready to be moved
	null      int // the null device in there
	err       error
	procErr   error // why there is no proc
	network   network
}

// Names in the workshop.
const (
	stageRoot   = "root"
	stageCovers = "covers"
	stageDev    = "dev"
	stageProc   = "proc"
)

// newWorkshop prepares what is the same for every plan. What fails is told when it
// is needed.
func newWorkshop() *workshop {
	w := &workshop{host: -1, stage: -1, covers: -1, dev: -1, proc: -1, null: -1}
	w.err = w.prepare()
	return w
}

func (w *workshop) prepare() (err error) {
	for _, kind := range [...]string{"mnt", "pid", "ipc"} {
		own, err := ownNamespace(kind)
		if err == nil && !own {
			err = unix.EPERM
		}
		if err != nil {
			return failed(plan.Isolating, "a namespace of its own of the kind "+kind, err)
		}
	}
	if w.host, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return failed(plan.Mounting, "/", err)
	}
	if w.stage, err = newMount("tmpfs", inert, "mode", "0755"); err != nil {
		return failed(plan.Mounting, "a temporary file system", err)
	}
	if err = attach(w.stage, w.host); err != nil {
		return failed(plan.Mounting, "/", err)
	}
	for _, name := range [...]string{stageRoot, stageCovers, stageDev, stageProc} {
		if err := unix.Mkdirat(w.stage, name, 0o755); err != nil {
			return failed(plan.Mounting, "a temporary file system", err)
		}
	}
	if w.dev, err = newDevices(w.host, w.stage, stageDev); err != nil {
		return err
	}
	if w.null, err = unix.Openat(w.dev, "null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return failed(plan.Devices, "/dev/null", err)
	}
	w.proc, w.procErr = newProcesses(w.stage, stageProc)
	w.network = prepareNetwork()
	return nil
}

// builder builds one root in a workshop.
type builder struct {
	*workshop
	c    *plan.Confinement
	root int
	done []plan.Mount
	// place has the directories that cover something, where mount points can still
	// be made, by their paths.
	place map[string]int
}

// build builds the root and makes it this process's own. Nothing of the host's
// tree is held any more then, but what the plan shows.
func (w *workshop) build(c *plan.Confinement, terminal int) error {
	if w.err != nil {
		return w.err
	}
	if err := w.network.check(c); err != nil {
		return err
	}
	b := &builder{workshop: w, c: c, root: -1, place: map[string]int{}}
	// Until now changes of the host's mounts have still come through.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed(plan.Mounting, "/", err)
	}
	// That is no part of the host's root.
	if err := setMounts(w.stage, 0, unix.MountAttr{Propagation: unix.MS_UNBINDABLE}); err != nil {
		return failed(plan.Mounting, "/", err)
	}
	if err := b.lay(); err != nil {
		return err
	}
	if err := finishDevices(w.host, w.dev, terminal); err != nil {
		return err
	}
	for _, own := range [...]struct {
		name string
		tree int
		step plan.Step
	}{{"dev", w.dev, plan.Devices}, {"proc", w.proc, plan.Processes}} {
		if own.name == "proc" && w.procErr != nil {
			if !c.OuterProc {
				return w.procErr
			}
			if err := outerProcesses(w.host, b.root); err != nil {
				return err
			}
			continue
		}
		place, err := at(b.root, own.name)
		if err == nil {
			err = attach(own.tree, place)
			unix.Close(place)
		}
		if err != nil {
			return failed(own.step, "/"+own.name, err)
		}
	}
	for i := range c.Mounts {
		if err := b.mount(&c.Mounts[i]); err != nil {
			return err
		}
	}
	if c.Base == plan.Nothing {
		if err := setMounts(b.root, 0, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return failed(plan.Mounting, "/", err)
		}
	}
	return b.enter()
}

// lay mounts the base.
func (b *builder) lay() (err error) {
	switch b.c.Base {
	case plan.ReadOnly:
		b.root, err = copyMounts(b.host, inert|unix.MOUNT_ATTR_RDONLY)
	case plan.Writable:
		b.root, err = copyMounts(b.host, inert)
	case plan.Nothing:
		b.root, err = newMount("tmpfs", inert, "mode", "0755")
	default:
		err = unix.EINVAL
	}
	if err == nil {
		err = attachIn(b.root, b.stage, stageRoot)
	}
	if err == nil && b.c.Base == plan.Nothing {
		if err = unix.Mkdirat(b.root, "dev", 0o755); err == nil {
			err = unix.Mkdirat(b.root, "proc", 0o755)
		}
	}
	return failed(plan.Mounting, "/", err)
}

// enter changes the root, and lets go of the host's.
func (b *builder) enter() error {
	err := unix.Fchdir(b.root)
	if err == nil {
		// Puts the old root on top of the new one, and on top of that is still the
		// workshop: both are taken off.
		err = unix.PivotRoot(".", ".")
	}
	for range 2 {
		if err == nil {
			err = unix.Unmount(".", unix.MNT_DETACH)
		}
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err == nil {
		err = b.isAlone()
	}
	for _, fd := range [...]int{b.host, b.stage, b.covers, b.dev, b.proc, b.root} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for _, fd := range b.place {
		unix.Close(fd)
	}
	return failed(plan.Mounting, "changing the root", err)
}

// isAlone returns an error if anything is stacked on the root, where it could be
// reached.
func (b *builder) isAlone() error {
	var root, top unix.Statx_t
	if err := unix.Statx(b.root, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &root); err != nil {
		return err
	}
	if err := unix.Statx(unix.AT_FDCWD, "/..", 0, unix.STATX_MNT_ID, &top); err != nil {
		return err
	}
	if root.Mask&top.Mask&unix.STATX_MNT_ID == 0 || root.Mnt_id != top.Mnt_id {
		return unix.EBUSY
	}
	return nil
}
