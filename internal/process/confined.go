package process

import (
	"cmp"
	"slices"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Confined says what confines a child.
type Confined struct {
	// Type is what the dialect calls it.
	Type protocol.SandboxType
	// Tier is empty if no sandbox was asked for.
	Tier protocol.SandboxTier
}

// sandboxReport is what is told of a sandbox when its process has exited.
type sandboxReport struct {
	denied  bool // as the dialect guesses
	denials []protocol.Denial
	setup   *protocol.SetupError
}

// sandboxReport makes the report of a process that has exited with a code. It may
// take a moment.
func (p *Process) sandboxReport(code int) (r sandboxReport) {
	if !p.confined {
		return r
	}
	r.denied = p.wasDenied(code)
	// What is denied in passing (many programs try a socket of nscd) is no news for
	// clients that know nothing of us.
	if p.askedOurs && p.table.tells(protocol.FeatureSandboxDenials) {
		r.denials = wireDenials(p.child.Denials())
	}
	failure := p.child.SetupFailure()
	if failure != nil && p.table.tells(protocol.FeatureSandboxSetupError) {
		r.setup = &protocol.SetupError{
			Stage:   bounded(failure.Stage),
			Message: bounded(failure.Message),
		}
	}
	return r
}

// add tells of it in the result of a read.
func (r *sandboxReport) add(result *protocol.ReadResult) {
	if r.denials != nil || r.setup != nil {
		extra := readExtra(result)
		extra.Denials, extra.SetupError = r.denials, r.setup
	}
}

// tells reports whether a feature has not been switched off.
func (t *Table) tells(feature string) bool { return slices.Contains(t.config.Features, feature) }

// wireDenials returns what is told of denials, which are of different kinds: the
// first of them.
func wireDenials(seen []plan.Denial) []protocol.Denial {
	var told []protocol.Denial
	for _, d := range seen[:min(len(seen), limits.DenialKinds)] {
		told = append(told, protocol.Denial{
			What: bounded(d.What), Path: bounded(d.Path), Address: bounded(d.Address), Count: d.Count,
		})
	}
	return told
}

// bounded cuts what a child has a say in.
func bounded(text string) string {
	return string([]rune(text[:min(len(text), limits.DenialTextBytes)]))
}

// tierToTell returns the tier if a client that has asked for nothing of ours, or
// for something, is to know it.
func (p *Process) tierToTell(tier protocol.SandboxTier) protocol.SandboxTier {
	weaker := tier == protocol.TierLandlock
	if !p.table.tells(protocol.FeatureSandboxTier) || !weaker && !p.askedOurs {
		return ""
	}
	return tier
}

// startResult tells of a start that has succeeded.
func (p *Process) startResult(confined Confined) *protocol.StartResult {
	extra := protocol.StartResultExtra{
		Limits:      p.limitMechanisms(),
		SandboxTier: p.tierToTell(confined.Tier),
	}
	result := &protocol.StartResult{
		ProcessID:   p.id,
		SandboxType: new(cmp.Or(confined.Type, protocol.SandboxNone)),
	}
	if extra != (protocol.StartResultExtra{}) {
		result.Airlock = &extra
	}
	return result
}
