package doctor

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// examineAs examines this host as a user, in a process of its own, in folders
// that are empty before.
func examineAs(t *testing.T, uid int, group *os.File) (report Report, temp string) {
	t.Helper()
	temp = t.TempDir()
	// Others have to get at it.
	for dir := temp; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(temp, uid, uid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = []string{examineVariable + "=1", "TMPDIR=" + temp, "XDG_RUNTIME_DIR=" + temp}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if uid != os.Geteuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	if group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.UserID != uid {
		t.Fatalf("examined as user %d, not %d", report.UserID, uid)
	}
	return report, temp
}

// ownGroup makes a control group, which tells of everything that has been started or made in it.
func ownGroup(t *testing.T) *os.File {
	t.Helper()
	g, err := newHost().usable("")
	if err != nil {
		t.Skipf("no control groups of version 2 can be made here: %v", err)
	}
	path := filepath.Join(g.dir, "doctor-test-"+rand.Text())
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	group, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	return group
}

func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, uid := range map[string]int{"this user": os.Geteuid(), "nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if uid != os.Geteuid() && os.Geteuid() != 0 {
				t.Skip("it takes root to become somebody else")
			}
			group := ownGroup(t)
			report, temp := examineAs(t, uid, group)
			for _, c := range report.Checks {
				t.Logf("%-7s %-18s %s", c.Status, c.Name, c.Found)
				if strings.Contains(c.Found, "has not answered") {
					t.Errorf("%s hangs", c.Name)
				}
			}
			left, err := os.ReadDir(temp)
			if err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, %v", left, err)
			}
			members, err := os.ReadFile(group.Name() + "/cgroup.procs")
			if err != nil || len(members) > 0 {
				t.Errorf("processes are left: %s, %v", members, err)
			}
			// It is removed only if nothing is in it.
			if err := os.Remove(group.Name()); err != nil {
				t.Error(err)
			}
		})
	}
}

// An ordinary user gets at less, and is told so.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it takes root to become somebody else")
	}
	report, temp := examineAs(t, nobody, nil)
	checks := map[string]Check{}
	for _, c := range report.Checks {
		checks[c.Name] = c
	}
	if trees := checks["trees"]; trees.Status != Weaker || trees.Facts["means"] != "walk" || !strings.Contains(trees.Found, "denied") {
		t.Errorf("%+v", trees)
	}
	if groups := checks["control-groups"]; groups.Status != Missing || !strings.Contains(groups.Mend, "Delegate=yes") {
		t.Errorf("%+v", groups)
	}
	if folder := checks["control-folder"]; folder.Status != OK || folder.Facts["folder"] != temp+"/airlock" {
		t.Errorf("%+v", folder)
	}
	for _, name := range []string{"terminals", "helper", "descriptors", "spill-folder"} {
		if checks[name].Status != OK {
			t.Errorf("%+v", checks[name])
		}
	}
}

// The real probes tell what is missing from what is there.
func TestProbesFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere")
	for name, err := range map[string]error{
		"openTemp": second(openTemp(nowhere)),
		"free":     second(free(nowhere)),
		"listen":   listen(nowhere),
		"writable": writable(nowhere),
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := seccompAction(0x12340000); err == nil {
		t.Error("seccompAction: filters can do something that does not exist")
	}
	if err := seccompFlag(1 << 30); err == nil {
		t.Error("seccompFlag: there is a flag that does not exist")
	}
	if err := isolate(false, 1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("isolate: a namespace that does not exist: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
