package helper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox/landlock"
)

const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
)

// tryLandlock confines its thread, and tries what it may do then.
func tryLandlock(dir, parent, abstract string) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	err := applyLandlock(&plan.Landlock{HandledFiles: unix.LANDLOCK_ACCESS_FS_READ_FILE, Rules: []plan.LandlockRule{
		{Path: "/missing", Rights: unix.LANDLOCK_ACCESS_FS_READ_FILE},
	}})
	fmt.Println("rule for nothing:", errors.Is(err, unix.ENOENT), strings.Contains(fmt.Sprint(err), "/missing"))
	err = applyLandlock(&plan.Landlock{HandledFiles: 1 << 62})
	fmt.Println("unknown right:", errors.Is(err, unix.EINVAL))
	err = applyLandlock(&plan.Landlock{
		HandledFiles: 1<<16 - 1, HandledNetwork: 3, Scoped: 3,
		Rules: []plan.LandlockRule{
			{Path: filepath.Join(dir, "read"), Rights: readRights},
			{Path: filepath.Join(dir, "write"), Rights: readRights | writeRights},
			{Path: filepath.Join(dir, "secret", "file"), Rights: readRights | writeRights}, // of a file: what fits it
		},
	})
	if err != nil {
		fmt.Println("not confined:", err)
		return
	}
	open := func(name string, flags int) {
		fd, err := unix.Open(filepath.Join(dir, name), flags|unix.O_CLOEXEC, 0o600)
		unix.Close(fd)
		say(name, err)
	}
	open("read/x", unix.O_RDONLY)
	open("read/x", unix.O_WRONLY)
	open("read/new", unix.O_WRONLY|unix.O_CREAT)
	open("write/x", unix.O_RDWR|unix.O_TRUNC)
	open("write/new", unix.O_WRONLY|unix.O_CREAT)
	open("secret/x", unix.O_RDONLY)
	open("secret/file", unix.O_RDWR)
	open("write/../secret/x", unix.O_RDONLY)
	open("write/link", unix.O_RDONLY)
	say("truncate", unix.Truncate(filepath.Join(dir, "read/x"), 0))
	say("link", unix.Link(filepath.Join(dir, "secret/x"), filepath.Join(dir, "write/y")))
	say("rename", unix.Rename(filepath.Join(dir, "read/x"), filepath.Join(dir, "write/y")))
	pid, _ := strconv.Atoi(parent)
	say("signal", unix.Kill(pid, 0))
	fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	say("abstract", unix.Connect(fd, &unix.SockaddrUnix{Name: abstract}))
	tcp, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	say("tcp", unix.Connect(tcp, &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}}))
	_, err = os.ReadFile("/proc/" + parent + "/environ")
	fmt.Println("environment", errors.Is(err, os.ErrPermission))
}

func TestLandlock(t *testing.T) {
	t.Parallel()
	if landlock.ABI() < landlock.Oldest {
		t.Skip("the kernel's Landlock is too old")
	}
	dir := t.TempDir()
	for _, name := range []string{"read/x", "write/x", "secret/x", "secret/file"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret/x", filepath.Join(dir, "write/link")); err != nil {
		t.Fatal(err)
	}
	abstract := "@landlock" + filepath.Base(filepath.Dir(dir))
	l, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := natively(t, "landlock", dir, strconv.Itoa(os.Getpid()), abstract)
	want := `rule for nothing: true true
unknown right: true
read/x 
read/x EACCES
read/new EACCES
write/x 
write/new 
secret/x EACCES
secret/file 
write/../secret/x EACCES
write/link EACCES
truncate EACCES
link EXDEV
rename EACCES
signal EPERM
abstract EPERM
tcp EACCES
environment true
`
	if got != want {
		t.Errorf("%s; want\n%s", got, want)
	}
}
