package server

import (
	"slices"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestContract asserts that the table of methods and package protocol speak of the
// same: its contract is what the documents of the protocol are made from.
func TestContract(t *testing.T) {
	t.Parallel()
	contract := map[string]protocol.Message{}
	for _, m := range protocol.Contract() {
		if !m.IsNotification() && m.Sender == protocol.Client {
			contract[m.Method] = m
			if _, there := methods()[m.Method]; !there {
				t.Errorf("%s is in the contract, and not in the table of methods", m.Method)
			}
		}
	}
	for name, m := range methods() {
		c, there := contract[name]
		if !there {
			t.Errorf("%s is in the table of methods, and not in the contract (protocol/contract.go)", name)
			continue
		}
		if m.feature != c.Feature || m.operator != c.ControlSocket {
			t.Errorf("%s: the table has feature %q and operator %v, the contract %q and %v",
				name, m.feature, m.operator, c.Feature, c.ControlSocket)
		}
		// A list has a gate of its own, as an operator needs no handshake for it.
		if gated := m.family != "" || name == protocol.MethodProcessList; gated != (c.Phase == protocol.PhaseReady) {
			t.Errorf("%s: the table has family %q, the contract phase %s", name, m.family, c.Phase)
		}
	}
}

// TestFeatures asserts that an executor has all features, as long as none is
// switched off.
func TestFeatures(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	t.Cleanup(s.Close)
	for _, name := range protocol.Features() {
		if !slices.Contains(s.info.Airlock.Features, name) {
			t.Errorf("the executor does not have %s", name)
		}
	}
}
