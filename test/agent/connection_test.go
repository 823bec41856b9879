package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// cut cuts the connection, and waits until the agent has noticed.
func (u *turn) cut() {
	u.t.Helper()
	_, before := u.place.cable.counts()
	u.place.cable.sever()
	u.refused(before + 1)
}

// refused waits until the agent has tried in vain to connect so many times.
func (u *turn) refused(times int) {
	u.t.Helper()
	eventually(u.t, func() string {
		if _, refused := u.place.cable.counts(); refused < times {
			return fmt.Sprintf("the agent has tried to connect %d times, not yet %d times", refused, times)
		}
		return ""
	})
}

// mend lets the agent connect again.
func (u *turn) mend() { u.place.cable.mend(u.place.daemon.address) }

// TestCutWithinCommand: a command runs on while the connection is cut, and the
// model misses nothing of it.
func TestCutWithinCommand(t *testing.T) {
	overNetwork(t, setting{}, func(t *testing.T, u *turn) {
		returned := u.begin(function(t, "exec_command", command{
			Cmd:     awaitFile + "seq 1 3; touch before; await cut; seq 4 6; touch within; await mended; seq 7 9; exit 9",
			YieldMS: 30_000,
		}))
		u.made("before")
		u.cut()
		u.touch("cut")
		u.made("within")
		u.mend()
		u.touch("mended")
		u.expect(u.finish(parseResult(returned()[0].text())), 9, "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
		if made, _ := u.place.cable.counts(); made != 2 {
			t.Errorf("%d connections were made", made)
		}
		u.expect(u.run(command{Cmd: "echo still here"}), 0, "still here\n")
	})
}

// TestCommandEndsWhileCut: the model learns of an end that it could not be told.
func TestCommandEndsWhileCut(t *testing.T) {
	overNetwork(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: awaitFile + "await cut; seq 1 5; touch within; exit 6", YieldMS: 250})
		if r.ended {
			t.Fatalf("it has ended: %q", r.said)
		}
		u.cut()
		u.touch("cut")
		u.made("within")
		u.mend()
		u.expect(u.finish(r), 6, "1\n2\n3\n4\n5\n")
	})
}

// TestTypeWhileCut: what the model types while the connection is cut arrives, once.
func TestTypeWhileCut(t *testing.T) {
	overNetwork(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{
			Cmd: `stty -echo; touch ready; while read -r line; do echo "<$line>"; [ "$line" != bye ] || exit 5; done`,
			TTY: true, YieldMS: 250,
		})
		u.made("ready")
		u.cut()
		_, refused := u.place.cable.counts()
		returned := u.begin(function(t, "write_stdin", input{Session: r.session, Chars: "hello\n"}))
		u.refused(refused + 3)
		u.mend()
		first := parseResult(returned()[0].text())
		last := u.await(u.write(input{Session: r.session, Chars: "bye\n"}), r.session, never)
		last.output = first.output + last.output
		u.expect(last, 5, "<hello>\r\n<bye>\r\n")
	})
}

// TestExecutorRestarts: commands of an executor that is gone have failed, and the
// next ones run in the new one.
func TestExecutorRestarts(t *testing.T) {
	overNetwork(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: "sleep 1000", YieldMS: 250})
		u.cut()
		u.place.daemon.stop()
		u.place.daemon = serve(t, []string{u.mark})
		u.mend()
		r = u.write(input{Session: r.session})
		if want := "exec-server rejected request (-32600): unknown session id"; !strings.Contains(r.said, want) {
			t.Errorf("a command of before: %q", r.said)
		}
		u.expect(u.run(command{Cmd: "echo here again"}), 0, "here again\n")
	})
}

// TestToken: an agent that has the token gets in, another one does not.
func TestToken(t *testing.T) {
	const token = "a-secret-of-this-test"
	for name, presented := range map[string]string{"right": token, "wrong": "another"} {
		t.Run(name, func(t *testing.T) {
			playTurn(t, withToken(token, presented), setting{}, func(t *testing.T, u *turn) {
				r := u.run(command{Cmd: "echo let in"})
				if presented == token {
					u.expect(r, 0, "let in\n")
				} else if !strings.Contains(r.said, "No usable execution environment is available") {
					t.Errorf("without the token: %q", r.said)
				}
			})
		})
	}
}

// withToken is the way to an executor that demands a token.
func withToken(demanded, presented string) func(*testing.T, []string) place {
	return func(t *testing.T, env []string) place {
		t.Helper()
		file := filepath.Join(t.TempDir(), "token")
		write(t, file, demanded+"\n")
		d := serve(t, env, "--ws-auth", "capability-token", "--ws-token-file", file)
		environments := fmt.Sprintf("default = %[1]q\ninclude_local = false\n"+
			"[[environments]]\nid = %[1]q\nurl = %[2]q\nauth_bearer_token = %[3]q\n",
			environmentID, "ws://"+d.address, presented)
		return place{environments: environments, daemon: d}
	}
}
