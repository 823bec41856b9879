// Package agent holds the tests of Airlock with the real Codex agent: its tools
// run commands, edit files and read instructions, skills and images through an
// executor, over WebSocket and over standard input and output.
//
// The model is the test itself. It answers the agent's requests with calls of
// tools, and looks at what the agent sends back for them. All of it stays on this
// machine: an agent that calls anybody else fails its test.
//
// CODEX_BIN names the program of the agent (`make codex` installs it and prints
// its path). Without it the tests are skipped, unless AIRLOCK_REQUIRE_CODEX is 1.
// AIRLOCK_AGENT_EXECUTOR is the path of another executor to be tested in place of
// Airlock, which understands `exec-server --listen URL`. With that of Codex all
// pass but those that Airlock is meant to be better at.
package agent
