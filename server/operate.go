package server

import (
	"context"
	"slices"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/protocol"
)

// What stands here is for whoever runs the executor: see protocol/control.go.

func (c *connection) sessionList(rpc.Request, *protocol.Unit) rpc.Reply {
	result := &protocol.SessionListResult{
		Executor: c.server.executorInfo(), Sessions: []protocol.SessionInfo{},
	}
	for _, s := range c.server.sessions.List() {
		all, live := s.Session.Processes().Counts()
		result.Sessions = append(result.Sessions, protocol.SessionInfo{
			SessionID:   s.Session.ID(),
			ClientName:  s.ClientName,
			Attached:    s.Attached,
			CreatedAtMs: s.Created.UnixMilli(),
			ChangedAtMs: s.Changed.UnixMilli(),
			Processes:   all,
			Running:     live,
		})
	}
	return rpc.Reply{Result: result}
}

// anySession returns a session whoever it belongs to.
func (c *connection) anySession(id string) (*session.Session, error) {
	s := c.server.sessions.Find(id)
	if s == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "unknown session id %s", id)
	}
	return s, nil
}

// observe reads the output of any process, at a pace that its client does not
// notice.
func (c *connection) observe(r rpc.Request, params *protocol.ObserveParams) rpc.Reply {
	s, err := c.anySession(params.SessionID)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	most := uint64(limits.ObservedBytes)
	if params.MaxBytes != nil {
		most = min(most, *params.MaxBytes)
	}
	o := &observation{
		pace: &c.pace, table: s.Processes(),
		params: protocol.ReadParams{
			ProcessID: params.ProcessID, AfterSeq: params.AfterSeq, MaxBytes: &most, WaitMs: params.WaitMs,
		},
	}
	return o.begin(r.Hurry)
}

// observation is a request to observe.
type observation struct {
	pace   *pace
	table  *process.Table
	params protocol.ReadParams
}

func (o *observation) begin(hurry <-chan struct{}) rpc.Reply {
	if wait := o.pace.take(); wait > 0 {
		o.params.WaitMs = nil // it has waited then
		return o.later(func(ctx context.Context) error { return sleep(ctx, hurry, wait) }, o.look)
	}
	reading, err := o.look()
	pending := reading.Pending
	if pending == nil || err != nil {
		return o.reply(reading, err)
	}
	o.pace.give(limits.ObservedBytes)
	return o.later(func(ctx context.Context) error {
		if err := pending.Wait(ctx, hurry); err != nil {
			return err
		}
		return sleep(ctx, hurry, o.pace.take())
	}, pending.Read)
}

// later waits, and then reads.
func (o *observation) later(wait func(context.Context) error, read func() (process.Reading, error)) rpc.Reply {
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		if err := wait(ctx); err != nil {
			return rpc.Reply{Err: err}
		}
		return rpc.Reply{Wait: func(context.Context) rpc.Reply { return o.reply(read()) }}
	}}
}

func (o *observation) look() (process.Reading, error) { return o.table.Observe(&o.params) }

// reply answers with what has been read. What has closed is read as fast as it
// goes: nobody waits for its client any more.
func (o *observation) reply(reading process.Reading, err error) rpc.Reply {
	took := 0
	if result := reading.Result; result != nil && !result.Closed {
		for _, chunk := range result.Chunks {
			took += len(chunk.Chunk)
		}
		if result.Airlock != nil && result.Airlock.FirstSeq > 0 {
			took *= limits.OutrunFactor
		}
	}
	o.pace.give(limits.ObservedBytes - took)
	return readReply(reading, err)
}

// sessionTerminate ends a session, or a process of it.
func (c *connection) sessionTerminate(_ rpc.Request, params *protocol.SessionTerminateParams) rpc.Reply {
	s, err := c.anySession(params.SessionID)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	if params.ProcessID != nil {
		one, err := terminate(s, *params.ProcessID, params.GraceMs)
		if err != nil {
			return rpc.Reply{Err: err}
		}
		c.log.Info("a process is terminated by the operator")
		return terminated([]process.PendingTermination{one}, nil)
	}
	if most := uint64(limits.TerminateGrace.Milliseconds()); params.GraceMs > most {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidParams,
			"graceMs is %d: at most %d are allowed", params.GraceMs, most)}
	}
	c.server.sessions.Shut(params.SessionID)
	pending := terminateAll(s, params.GraceMs)
	c.log.Info("a session is ended by the operator", "processes", len(pending))
	// Also when whoever has asked does not wait for it.
	ended := c.server.sessions.EndAfter(params.SessionID, func() { _, _ = await(context.Background(), pending) })
	return terminated(pending, ended)
}

// terminated answers with what has become of processes, once ended, if there is
// such a channel, has been closed.
func terminated(pending []process.PendingTermination, ended <-chan struct{}) rpc.Reply {
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		result, err := await(ctx, pending)
		if err == nil && ended != nil {
			select {
			case <-ended:
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		return rpc.Reply{Result: result, Err: err}
	}}
}

func terminate(s *session.Session, processID string, graceMs uint64) (process.PendingTermination, error) {
	return s.Processes().TerminateTree(
		&protocol.TerminateTreeParams{ProcessID: processID, GraceMs: graceMs}, protocol.ReasonOperator)
}

// terminateAll terminates all processes of a session.
func terminateAll(s *session.Session, graceMs uint64) (all []process.PendingTermination) {
	for params := (protocol.ListParams{}); ; {
		page := s.Processes().List(&params)
		for _, p := range page.Processes {
			// One that has been forgotten meanwhile is gone.
			if pending, err := terminate(s, p.ProcessID, graceMs); err == nil {
				all = append(all, pending)
			}
		}
		if page.Next == 0 {
			return all
		}
		params.After = page.Next
	}
}

// await returns what has become of all.
func await(ctx context.Context, pending []process.PendingTermination) (*protocol.SessionTerminateResult, error) {
	all := &protocol.SessionTerminateResult{Killed: []int{}, Survivors: []int{}}
	for _, one := range pending {
		result, err := one.Wait(ctx)
		if err != nil {
			return nil, err
		}
		all.Killed = append(all.Killed, result.Killed...)
		all.Survivors = append(all.Survivors, result.Survivors...)
	}
	for _, pids := range []*[]int{&all.Killed, &all.Survivors} {
		slices.Sort(*pids)
		*pids = slices.Compact(*pids)
		*pids = (*pids)[:min(len(*pids), limits.TerminatedPIDs)]
	}
	return all, nil
}
