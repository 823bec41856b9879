package agent

import (
	"os"
	"strings"
	"testing"
)

// awaitFile is a function for commands that waits for a file of the workspace: so a
// test says when they go on.
const awaitFile = `await() { until [ -e "$1" ]; do sleep 0.02; done; }; `

// expect fails the test unless a command has ended as it should.
func (u *turn) expect(r result, code int, output string) {
	u.t.Helper()
	if !r.ended || r.code != code || r.output != output {
		u.t.Errorf("want exit code %d after %q, not %q; at last: %q", code, output, r.output, r.said)
	}
}

// made waits until a command has made a file of the workspace.
func (u *turn) made(name string) {
	u.t.Helper()
	eventually(u.t, func() string {
		if _, err := os.Stat(u.path(name)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// touch makes a file of the workspace, for which a command waits.
func (u *turn) touch(name string) {
	u.t.Helper()
	write(u.t, u.path(name), "")
}

// TestCommand: a command runs where the agent works, in its environment, without
// a terminal.
func TestCommand(t *testing.T) {
	everyWay(t, setting{env: []string{"AIRLOCK_TEST_ENV=of the executor"}}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: `pwd; echo "$TERM,$CODEX_CI,$AIRLOCK_TEST_ENV"; test -t 0 || echo no terminal; cat`})
		u.expect(r, 0, u.workspace+"\ndumb,1,of the executor\nno terminal\n")
	})
}

// TestWorkdir: a command runs in the folder that it is given.
func TestWorkdir(t *testing.T) {
	everyWay(t, setting{files: map[string]string{"a folder/file": ""}}, func(t *testing.T, u *turn) {
		u.expect(u.run(command{Cmd: "pwd; ls", Workdir: "a folder"}), 0, u.path("a folder")+"\nfile\n")
		if r := u.run(command{Cmd: "pwd", Workdir: "missing"}); r.ended || !strings.Contains(r.said, "No such file or directory") {
			t.Errorf("in a folder that is not there: %q", r.said)
		}
	})
}

// TestFailingCommand: the model learns how a command failed.
func TestFailingCommand(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		// One stream after the other, as each is read on its own.
		u.expect(u.run(command{Cmd: "echo broken >&2; exit 7"}), 7, "broken\n")
		u.expect(u.run(command{Cmd: "kill -KILL $$"}), 137, "")
		if r := u.run(command{Cmd: "no-such-program"}); r.code != 127 || !strings.Contains(r.output, "no-such-program: command not found") {
			t.Errorf("a program that is not there: %q", r.said)
		}
	})
}

// TestLongCommand: a command that takes longer than the model waits is polled
// until it ends, and each of its words is told once.
func TestLongCommand(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: awaitFile + "echo one; await 1; echo two; await 2; echo three; exit 3", YieldMS: 250})
		r = u.await(r, r.session, func(output string) bool { return output != "" })
		if r.ended || r.output != "one\n" {
			t.Fatalf("at first: %q", r.said)
		}
		u.touch("1")
		second := u.write(input{Session: r.session})
		if second.ended || second.output != "two\n" {
			t.Fatalf("then: %q", second.said)
		}
		u.touch("2")
		u.expect(u.finish(second), 3, "two\nthree\n")
	})
}

// TestParallelCommands: commands that the model calls at the same time run at the
// same time.
func TestParallelCommands(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		outputs := u.begin(
			function(t, "exec_command", command{Cmd: awaitFile + "touch a; await b; echo a"}),
			function(t, "exec_command", command{Cmd: awaitFile + "touch b; await a; echo b"}),
		)()
		u.expect(parseResult(outputs[0].text()), 0, "a\n")
		u.expect(parseResult(outputs[1].text()), 0, "b\n")
	})
}

// TestTerminal: a command in a terminal of 80 columns gets what the model types.
func TestTerminal(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: `stty size; while read -r line; do echo "<$line>"; [ "$line" != bye ] || exit 5; done`, TTY: true, YieldMS: 250})
		has := func(text string) func(string) bool {
			return func(output string) bool { return strings.Contains(output, text) }
		}
		if r = u.await(r, r.session, has("24 80\r\n")); r.ended {
			t.Fatalf("at first: %q", r.said)
		}
		session := r.session
		r = u.await(u.write(input{Session: session, Chars: "höllo\n"}), session, has("<höllo>\r\n"))
		if r.ended || r.output != "höllo\r\n<höllo>\r\n" {
			t.Errorf("after a line: %q", r.said)
		}
		u.expect(u.await(u.write(input{Session: session, Chars: "bye\n"}), session, never), 5, "bye\r\n<bye>\r\n")
	})
}

// TestInterrupt: Ctrl-C reaches a command, with a terminal and without.
func TestInterrupt(t *testing.T) {
	for name, tty := range map[string]bool{"terminal": true, "pipes": false} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, setting{}, func(t *testing.T, u *turn) {
				r := u.run(command{Cmd: `trap "echo caught; exit 42" INT; touch ready; while :; do sleep 0.02; done`, TTY: tty, YieldMS: 250})
				u.made("ready")
				r = u.await(u.write(input{Session: r.session, Chars: "\x03", YieldMS: 5000}), r.session, never)
				if r.code != 42 || !strings.Contains(r.output, "caught") {
					t.Errorf("after Ctrl-C: %q", r.said)
				}
			})
		})
	}
}

// TestLargeOutput: of a large output the model gets the beginning and the end.
func TestLargeOutput(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		r := u.finish(u.run(command{Cmd: "seq 1 300000; exit 4"}))
		if r.code != 4 || len(r.output) < 10_000 || len(r.output) > 100_000 {
			t.Errorf("%d bytes, exit code %d", len(r.output), r.code)
		}
		if !strings.Contains(r.output, "1\n2\n3\n") || !strings.HasSuffix(r.output, "299999\n300000\n") {
			t.Errorf("%q … %q", r.output[:100], r.output[len(r.output)-100:])
		}
	})
}

// TestCommandLeftRunning: what runs when the agent ends is dead soon after, though
// the executor goes on.
func TestCommandLeftRunning(t *testing.T) {
	overNetwork(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: "sleep 1000 & touch ready; sleep 1001", YieldMS: 250})
		u.made("ready")
		if r.ended {
			t.Fatalf("it has ended: %q", r.said)
		}
		u.end()
		eventually(t, func() string {
			for _, process := range marked(u.mark) {
				if strings.Contains(process, "sleep") {
					return "this process is left behind: " + process
				}
			}
			return ""
		})
	})
}

// TestBackgroundCommand: what a command has left in the background, out of reach
// of its process group, is dead when the executor has ended.
func TestBackgroundCommand(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		u.expect(u.run(command{Cmd: "setsid sleep 200 >&- 2>&- <&- & echo started"}), 0, "started\n")
	})
}
