package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// sink is where `airlock run` tells what happens.
type sink interface {
	started(*startedInfo) error
	event(client.Event) error
}

// startedInfo is what there is to tell of a start.
type startedInfo struct {
	processID, sessionID string
	limits               *protocol.LimitMechanisms // nil: there are none
	tier                 protocol.SandboxTier      // empty: there is no sandbox, or it is not known
}

// newSink returns a sink that writes what the user should know besides to stderr.
func newSink(c *runCommand, stderr io.Writer) sink {
	switch {
	case c.JSON:
		return jsonSink{}
	case c.Verbose && c.confines():
		return verboseSink{plainSink{stderr}}
	}
	return plainSink{stderr}
}

// plainSink passes output on as it is. What the user should know besides goes to
// stderr, or standard error if that is nil.
type plainSink struct{ stderr io.Writer }

func (plainSink) started(*startedInfo) error { return nil }

func (s plainSink) event(e client.Event) error {
	switch e.Kind {
	case client.Output:
		stream := os.Stdout
		if e.Stream == protocol.StreamStderr {
			stream = os.Stderr
		}
		_, err := stream.Write(e.Data)
		return err
	case client.Gap:
		if what := missing(e); what != "" {
			fmt.Fprintf(s.notices(), "airlock: warning: %s missing here: the executor had to drop it\n", what)
		}
	case client.Exited, client.Closed:
	}
	return nil
}

func (s plainSink) notices() io.Writer {
	if s.stderr == nil {
		return os.Stderr
	}
	return s.stderr
}

// missing says what output is gone with a gap, or nothing if none is.
func missing(gap client.Event) string {
	if gap.Missed == nil {
		return "some output is"
	}
	var parts []string
	for _, stream := range []struct {
		name protocol.Stream
		text string
	}{
		{protocol.StreamStdout, "standard output"},
		{protocol.StreamStderr, "standard error"},
		{protocol.StreamPTY, "the terminal's output"},
	} {
		if n := gap.Missed[stream.name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d bytes of %s", n, stream.text))
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, " and ") + " are"
}

// jsonSink prints an object a line.
type jsonSink struct{}

func (jsonSink) started(s *startedInfo) error {
	return printLine(&struct {
		Event       string                    `json:"event"`
		ProcessID   string                    `json:"processId"`
		SessionID   string                    `json:"sessionId"`
		Limits      *protocol.LimitMechanisms `json:"limits,omitzero"`
		SandboxTier protocol.SandboxTier      `json:"sandboxTier,omitzero"`
	}{"start", s.processID, s.sessionID, s.limits, s.tier})
}

func (jsonSink) event(e client.Event) error {
	switch e.Kind {
	case client.Output:
		return printLine(&struct {
			Event  string          `json:"event"`
			Seq    uint64          `json:"seq"`
			Stream protocol.Stream `json:"stream"`
			Chunk  []byte          `json:"chunk"`
		}{"output", e.Seq, e.Stream, e.Data})
	case client.Exited:
		return printLine(&struct {
			Event         string               `json:"event"`
			Seq           uint64               `json:"seq"`
			ExitCode      int                  `json:"exitCode"`
			SandboxDenied bool                 `json:"sandboxDenied"`
			Reason        protocol.EndReason   `json:"reason,omitzero"`
			Denials       []protocol.Denial    `json:"denials,omitzero"`
			SetupError    *protocol.SetupError `json:"setupError,omitzero"`
		}{"exited", e.Seq, e.ExitCode, e.SandboxDenied, e.Reason, e.Denials, e.SetupError})
	case client.Gap:
		return printLine(&struct {
			Event       string                     `json:"event"`
			FirstSeq    uint64                     `json:"firstSeq"`
			Seq         uint64                     `json:"seq"`
			MissedBytes map[protocol.Stream]uint64 `json:"missedBytes,omitzero"`
		}{"gap", e.FirstSeq, e.Seq, e.Missed})
	default:
		return printLine(&struct {
			Event  string             `json:"event"`
			Seq    uint64             `json:"seq"`
			Reason protocol.EndReason `json:"reason,omitzero"`
		}{"closed", e.Seq, e.Reason})
	}
}

func printLine(object any) error {
	line, err := json.Marshal(object, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
