package agent

import (
	"strings"
	"testing"
)

// TestSandboxed: an agent in its own modes asks for a sandbox. What a mode allows is
// done, by commands and by patches, and what it does not allow is not; the model is
// told in the words of the operating system.
func TestSandboxed(t *testing.T) {
	const patched = "Success. Updated the following files"
	for mode, want := range map[string]struct {
		command, patch string
		file           string
		made           bool
	}{
		"read-only":       {"Read-only file system", "patch rejected: writing is blocked by read-only sandbox", "one\n", false},
		"workspace-write": {"made it", patched, "two\n", true},
	} {
		t.Run(mode, func(t *testing.T) {
			overNetwork(t, setting{sandbox: mode, files: map[string]string{"file": "one\n"}}, func(t *testing.T, u *turn) {
				r := u.run(command{Cmd: "touch made && echo made it"})
				if !strings.Contains(r.said, want.command) {
					t.Errorf("a command: %q", r.said)
				}
				if said := u.patch("*** Update File: file", "@@", "-one", "+two"); !strings.Contains(said, want.patch) {
					t.Errorf("a patch: %q", said)
				}
				r = u.run(command{Cmd: "touch /etc/airlock-made"})
				if !strings.Contains(r.said, "Read-only file system") {
					t.Errorf("a command that writes elsewhere: %q", r.said)
				}
				r = u.run(command{Cmd: "exec 3<>/dev/tcp/127.0.0.1/1"})
				if !strings.Contains(r.said, "Operation not permitted") {
					t.Errorf("a command that connects: %q", r.said)
				}
				files, absent := map[string]string{"file": want.file}, []string{"made"}
				if want.made {
					files["made"], absent = "", nil
				}
				u.expectFiles(files, absent...)
			})
		})
	}
}

// TestProtectedMetadata: commands and patches may write to the workspace, but not to
// what says how it is worked on.
func TestProtectedMetadata(t *testing.T) {
	files := map[string]string{".git/config": "c\n", "file": "one\n", "sub/.git/config": "s\n"}
	s := setting{sandbox: "workspace-write", files: files, env: plainShell}
	everyWay(t, s, func(t *testing.T, u *turn) {
		for _, cmd := range []string{"touch .git/new", "echo x > .git/config", "mkdir .codex", "mv .git other", "rmdir .codex", "find .git -delete", "touch .agents/x"} {
			if r := u.run(command{Cmd: cmd}); r.code == 0 {
				t.Errorf("%s: %q", cmd, r.said)
			}
		}
		if said := u.patch("*** Update File: .git/config", "@@", "-c", "+d"); strings.Contains(said, "Success") {
			t.Errorf("a patch: %q", said)
		}
		u.expect(u.run(command{Cmd: "mkdir new && mv file new/file && echo t > sub/.git/config && ls -A"}), 0, ".agents\n.aws\n.codex\n.git\nnew\nsub\n")
		u.end()
		u.expectFiles(map[string]string{".git/config": "c\n", "new/file": "one\n", "sub/.git/config": "t\n"}, ".codex", ".agents", ".aws", ".git/new", "file")
	})
}

// TestSandboxedTerminal: a command in a sandbox has a terminal like any other: it gets
// what is typed, and Ctrl-C reaches its handler.
func TestSandboxedTerminal(t *testing.T) {
	everyWay(t, setting{sandbox: "workspace-write", env: plainShell}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: `trap "echo caught; exit 42" INT; read -r line; echo "<$line>"; touch ready; while :; do sleep 0.02; done`, TTY: true, YieldMS: 250})
		session := r.session
		first := u.write(input{Session: session, Chars: "hello\n"})
		u.made("ready")
		last := u.await(u.write(input{Session: session, Chars: "\x03", YieldMS: 5000}), session, never)
		if last.code != 42 || !strings.Contains(first.output+last.output, "<hello>\r\n") || !strings.Contains(last.output, "caught") {
			t.Errorf("%q, and after Ctrl-C: %q", first.said, last.said)
		}
	})
}
