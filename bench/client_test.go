package main

import (
	"strings"
	"testing"
)

// scriptedClient is a client that receives the messages given.
func scriptedClient(messages ...string) *client {
	var text strings.Builder
	for _, m := range messages {
		text.WriteString(serverFrame(opText, true, m))
	}
	ws, _ := scripted(text.String())
	return &client{ws: ws, live: map[string]*progress{}, starts: map[int]string{}}
}

const (
	answered = `{"id":1,"result":{"processId":"p1"}}`
	exited   = `{"method":"process/exited","params":{"processId":"p1","seq":1,"exitCode":0}}`
	closed   = `{"method":"process/closed","params":{"processId":"p1","seq":2}}`
	stranger = `{"method":"process/closed","params":{"processId":"p0","seq":2}}`
)

// The peer may send "closed" before "exited", and events before the answer.
func TestRunInAnyOrder(t *testing.T) {
	output := outputText("stdout", []byte("x"))
	for _, messages := range [][]string{
		{answered, output, exited, closed},
		{answered, exited, output, closed},
		{exited, closed, answered},
		{stranger, answered, closed, exited},
	} {
		c := scriptedClient(messages...)
		if err := c.run(trueArgv, false); err != nil {
			t.Errorf("%q: %v", messages, err)
		}
		if len(c.live) != 0 || len(c.starts) != 0 {
			t.Errorf("%q: left behind %v, %v", messages, c.live, c.starts)
		}
		if _, err := c.next(); err == nil {
			t.Errorf("%q: not everything was waited for", messages)
		}
	}
}

func TestRunFails(t *testing.T) {
	for want, messages := range map[string][]string{
		"exited with code 127": {answered, strings.Replace(exited, `"exitCode":0`, `"exitCode":127`, 1), closed},
		"No such file":         {`{"error":{"code":-32603,"message":"No such file or directory (os error 2)"},"id":1}`},
		"EOF":                  {answered, exited},
	} {
		if err := scriptedClient(messages...).run(trueArgv, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to mention %q", err, want)
		}
	}
}
