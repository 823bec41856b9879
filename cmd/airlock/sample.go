package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// sample is what `airlock top` has seen in an interval.
type sample struct {
	AtMs      int64       `json:"atMs"`
	Executors int         `json:"executors"`
	Sessions  int         `json:"sessions"`
	Attached  int         `json:"attached"`
	Rows      []sampleRow `json:"processes"`
}

// sampleRow is a process, or a session that has none.
type sampleRow struct {
	Session    string   `json:"session"` // the beginning of its id
	ClientName string   `json:"clientName"`
	Attached   bool     `json:"attached"`
	Executor   int      `json:"executorPid"`
	ProcessID  string   `json:"processId,omitzero"`
	PID        int      `json:"pid,omitzero"`
	Argv       []string `json:"argv,omitzero"`
	Processes  int      `json:"processes"`
	CPUPercent float64  `json:"cpuPercent"`
	Memory     uint64   `json:"memoryBytes"`
	OutputRate float64  `json:"outputBytesPerSecond"`
	StartedMs  int64    `json:"startedAtMs,omitzero"`

	command string
}

// sampler looks at all executors again and again.
type sampler struct {
	flags *controlFlags
	all   []*operated
	now   sample
	last  map[counterKey]counters
}

// counterKey names a process beyond the reuse of its id.
type counterKey struct {
	socket, session, process string
	started                  int64
}

// counters are what grows while a process runs.
type counters struct {
	cpuMs, output uint64
	at            time.Time
}

func (s *sampler) close() { closeAll(s.all) }

// look makes a new sample. It fails if there is no executor to be asked any more.
func (s *sampler) look(ctx context.Context, stderr io.Writer) error {
	if err := s.connect(ctx, stderr); err != nil {
		return err
	}
	now := sample{AtMs: time.Now().UnixMilli(), Rows: []sampleRow{}}
	seen := map[counterKey]counters{}
	for _, o := range s.all {
		now.Executors++
		now.Sessions += len(o.sessions)
		for _, info := range o.sessions {
			if info.Attached {
				now.Attached++
			}
			rows, err := s.session(ctx, o, info, seen)
			if err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil { // told when its sessions are asked for again
				continue
			}
			now.Rows = append(now.Rows, rows...)
		}
	}
	slices.SortStableFunc(now.Rows, func(a, b sampleRow) int {
		return cmp.Or(cmp.Compare(b.CPUPercent, a.CPUPercent), cmp.Compare(b.OutputRate, a.OutputRate),
			cmp.Compare(b.Memory, a.Memory))
	})
	s.now, s.last = now, seen
	return nil
}

// connect asks the executors for their sessions, and looks for new executors.
func (s *sampler) connect(ctx context.Context, stderr io.Writer) error {
	lost := s.refresh(ctx)
	known := func(socket string) bool {
		return slices.ContainsFunc(s.all, func(o *operated) bool { return o.socket == socket })
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.flags.ControlSocket != "" && s.last == nil, s.flags.ControlSocket == "" && len(s.all) == 0 && lost == nil:
		all, err := s.flags.connect(ctx, stderr)
		s.all = all
		return err
	case s.flags.ControlSocket == "":
		sockets, _ := client.ControlSockets() // what can't be looked at has been told
		more, _ := operateAll(ctx, slices.DeleteFunc(sockets, known))
		s.all = append(s.all, more...)
	}
	if len(s.all) == 0 {
		return cmp.Or(lost, errors.New("the executor has ended"))
	}
	return nil
}

// refresh asks all executors for their sessions again, at the same time, and drops
// those that do not answer. The error is of one of them.
func (s *sampler) refresh(ctx context.Context) error {
	faults := make([]error, len(s.all))
	var asking sync.WaitGroup
	for i, o := range s.all {
		asking.Go(func() { faults[i] = o.refresh(ctx) })
	}
	asking.Wait()
	var lost error
	kept := s.all[:0]
	for i, o := range s.all {
		if faults[i] == nil {
			kept = append(kept, o)
			continue
		}
		lost = faults[i]
		_ = o.control.Close()
	}
	s.all = kept
	return lost
}

// session returns the rows of a session.
func (s *sampler) session(ctx context.Context, o *operated, info protocol.SessionInfo, seen map[counterKey]counters) ([]sampleRow, error) {
	processes, err := o.processes(ctx, info.SessionID, true)
	if err != nil {
		return nil, err
	}
	of := sampleRow{Executor: o.about.PID, Session: short(info.SessionID), ClientName: info.ClientName, Attached: info.Attached}
	var rows []sampleRow
	for i := range processes {
		p := &processes[i]
		if p.State == protocol.StateClosed {
			continue
		}
		row := of
		row.ProcessID, row.PID, row.Argv, row.StartedMs = p.ProcessID, p.PID, p.Argv, p.StartedAtMs
		row.command = commandText(p)
		c := counters{at: time.Now()}
		for _, n := range p.OutputBytes {
			c.output += n
		}
		if p.Usage != nil {
			row.Processes, row.Memory, c.cpuMs = p.Usage.Processes, p.Usage.MemoryBytes, p.Usage.CPUMs
		}
		key := counterKey{o.socket, info.SessionID, p.ProcessID, p.StartedAtMs}
		row.rate(s.last[key], c)
		seen[key] = c
		rows = append(rows, row)
	}
	if rows == nil {
		rows = []sampleRow{of}
	}
	return rows, nil
}

// rate works out what has happened since the sample before. Of a process that was
// not there everything has happened since its start.
func (r *sampleRow) rate(before, now counters) {
	if before.at.IsZero() {
		before.at = time.UnixMilli(r.StartedMs)
	}
	seconds := max(now.at.Sub(before.at).Seconds(), 0.001)
	r.CPUPercent = float64(grown(before.cpuMs, now.cpuMs)) / 10 / seconds
	r.OutputRate = float64(grown(before.output, now.output)) / seconds
}

// grown returns by how much a counter has grown. Those who have ended without
// being waited for do not count any more.
func grown(before, now uint64) uint64 { return now - min(before, now) }

// lines returns the sample as a table. Where there are several executors a column
// tells which one it is: what uses most comes first, whose ever it is.
func (s *sample) lines(columns int) []string {
	t := table{
		heading: []string{"CPU", "MEM", "OUT/s", "SESSION", "CLIENT", "PROCESS", "PID", "AGE", "COMMAND"},
		right:   []bool{0: true, 1: true, 2: true, 6: true, 7: true},
	}
	add := func(_ int, cells ...string) { t.add(cells...) }
	if s.Executors > 1 {
		const at = 3 // before the session
		t.heading = slices.Insert(t.heading, at, "EXECUTOR")
		t.right = slices.Insert(t.right, at, true)
		add = func(executor int, cells ...string) { t.add(slices.Insert(cells, at, strconv.Itoa(executor))...) }
	}
	var cpu, output float64
	var memory uint64
	running := 0
	for i := range s.Rows {
		r := &s.Rows[i]
		cpu, output, memory = cpu+r.CPUPercent, output+r.OutputRate, memory+r.Memory
		session, name := r.Session, cut(printable(r.ClientName), maxIDWidth)
		if r.ProcessID == "" {
			add(r.Executor, "", "", "", session, name, "", "", "", "")
			continue
		}
		running++
		pid := ""
		if r.PID != 0 {
			pid = strconv.Itoa(r.PID)
		}
		add(r.Executor, percent(r.CPUPercent), bytesText(r.Memory), bytesText(uint64(r.OutputRate)), session, name,
			cut(printable(r.ProcessID), maxIDWidth), pid, since(r.StartedMs), r.command)
	}
	summary := fmt.Sprintf("%s, %s (%d attached), %s: CPU %s, memory %s, output %s/s",
		plural(s.Executors, "executor"), plural(s.Sessions, "session"), s.Attached, plural(running, "process"),
		percent(cpu), bytesText(memory), bytesText(uint64(output)))
	if columns > 0 {
		summary = cut(summary, columns)
	}
	return append([]string{summary, ""}, t.lines(columns)...)
}

func percent(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) + "%" }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return strconv.Itoa(n) + " " + what + "s"
}
