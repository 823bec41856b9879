package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// turn is one turn of an agent: the test is its model.
type turn struct {
	t         *testing.T
	workspace string
	model     *model
	agent     *codex
	place     place
	mark      string // a variable of all that the turn has brought about
	asked     request
	calls     int
	over      bool
}

// setting is what a turn finds.
type setting struct {
	files   map[string]string             // in the workspace
	dir     string                        // where the agent works, in the workspace
	config  func(workspace string) string // what is added to the agent's configuration
	env     []string                      // of the executor, and so of commands
	sandbox string                        // the agent's mode; danger-full-access if empty
	profile string                        // the permissions that it has instead of a mode, in config
	// decision is what the agent's user says to all that it asks; without one it has
	// no user.
	decision string
}

// busy bounds the agents that run at the same time: each takes a processor.
var busy = make(chan struct{}, 2)

// everyWay plays a turn for each way by which an agent reaches an executor.
func everyWay(t *testing.T, s setting, play func(*testing.T, *turn)) {
	t.Helper()
	for name, reach := range ways {
		t.Run(name, func(t *testing.T) { playTurn(t, reach, s, play) })
	}
}

// overNetwork plays a turn that needs a connection.
func overNetwork(t *testing.T, s setting, play func(*testing.T, *turn)) {
	t.Helper()
	playTurn(t, overWebSocket, s, play)
}

// playTurn starts an agent, plays its model, and looks at what is left of both.
func playTurn(t *testing.T, reach func(*testing.T, []string) place, s setting, play func(*testing.T, *turn)) {
	t.Helper()
	requireAgent(t)
	t.Parallel()
	busy <- struct{}{}
	t.Cleanup(func() { <-busy })
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range s.files {
		write(t, filepath.Join(workspace, name), text)
	}
	u := &turn{t: t, workspace: workspace, model: newModel(t), mark: "AIRLOCK_TEST_MARK=" + workspace}
	env := append(trapBeyondLoopback(t), u.mark)
	u.place = reach(t, slices.Concat(s.env, []string{u.mark}))
	u.agent = startCodex(t, u.model, u.place, s, workspace, env)
	u.asked = u.next()
	play(t, u)
	u.end()
	if u.place.daemon != nil {
		u.place.daemon.stop()
	}
	u.nothingIsLeft()
}

// next returns the agent's next request to its model.
func (u *turn) next() request {
	u.t.Helper()
	select {
	case asked := <-u.model.requests:
		return asked
	case <-u.agent.ended:
		u.t.Fatal("the agent has ended within its turn")
	case <-time.After(patience):
		u.t.Fatalf("the agent asks nothing of its model for %v", patience)
	}
	panic("not reached")
}

// begin has the agent call tools. What it returns waits for what they return.
func (u *turn) begin(calls ...item) func() []output {
	u.t.Helper()
	for i := range calls {
		u.calls++
		calls[i].CallID = "call_" + strconv.Itoa(u.calls)
	}
	u.answer(calls)
	return func() []output {
		u.t.Helper()
		u.asked = u.next()
		var outputs []output
		for _, c := range calls {
			o, err := u.asked.outputOf(c.CallID)
			if err != nil {
				u.t.Fatal(err)
			}
			outputs = append(outputs, o)
		}
		return outputs
	}
}

// answer answers the agent's request.
func (u *turn) answer(items []item) {
	u.t.Helper()
	select {
	case u.model.replies <- items:
	case <-u.agent.ended:
		u.t.Fatal("the agent has ended before its model has answered")
	}
}

// call has the agent call a tool, and returns what that returns.
func (u *turn) call(c item) output {
	u.t.Helper()
	return u.begin(c)()[0]
}

// run has the agent run a command, and wait for it as long as it ever does unless
// the command says otherwise.
func (u *turn) run(c command) result {
	u.t.Helper()
	c.YieldMS = cmp.Or(c.YieldMS, 30_000)
	return parseResult(u.call(function(u.t, "exec_command", c)).text())
}

// write has the agent write to a command, or wait for what it says next.
func (u *turn) write(i input) result {
	u.t.Helper()
	return parseResult(u.call(function(u.t, "write_stdin", i)).text())
}

// await waits until what a command has said since, and before r, is enough, or
// until the command has ended. It returns the last result, with all output.
func (u *turn) await(r result, session int, enough func(output string) bool) result {
	u.t.Helper()
	all := r.output
	for !r.ended && !enough(all) {
		if r.session != session {
			u.t.Fatalf("the agent says neither that the command of session %d has ended nor that it runs: %q", session, r.said)
		}
		r = u.write(input{Session: session})
		all += r.output
	}
	r.output = all
	return r
}

// finish waits until a command has ended.
func (u *turn) finish(r result) result {
	u.t.Helper()
	return u.await(r, r.session, never)
}

// never is what is awaited of a command that is to end.
func never(string) bool { return false }

// patch has the agent apply a patch, and returns what it says about it.
func (u *turn) patch(lines ...string) string {
	u.t.Helper()
	return u.call(patch(lines...)).text()
}

// end lets the turn come to its end, and the agent with it.
func (u *turn) end() {
	u.t.Helper()
	if u.over {
		return
	}
	u.over = true
	const goodbye = "that is all"
	u.answer([]item{message(goodbye)})
	select {
	case <-u.agent.ended:
	case asked := <-u.model.requests:
		u.t.Fatalf("the agent goes on after the end of its turn: %q", asked.Input)
	case <-time.After(patience):
		u.t.Fatalf("the agent has not ended after %v", patience)
	}
	if code := u.agent.cmd.ProcessState.ExitCode(); code != 0 {
		u.t.Errorf("the agent has ended with %d", code)
	}
	if said := u.agent.lastMessage(); said != goodbye {
		u.t.Errorf("the agent tells its user %q", said)
	}
}

// nothingIsLeft waits until all processes of the turn have ended.
func (u *turn) nothingIsLeft() {
	u.t.Helper()
	eventually(u.t, func() string {
		for _, process := range marked(u.mark) {
			return "this process is left behind: " + process
		}
		return ""
	})
}

// path returns the path of a file of the workspace.
func (u *turn) path(name string) string { return filepath.Join(u.workspace, name) }
