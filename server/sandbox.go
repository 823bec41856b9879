package server

import "context"

// CheckSandbox returns why sandboxes can't be had as Config.SandboxTier asks for
// them: its value is not known, or the host does not let it. It does nothing if the
// choice is the executor's: what is asked for and can't be had is then refused when
// it is.
func (s *Server) CheckSandbox() error {
	if s.sandboxFault != nil || s.config.SandboxTier == "" {
		return s.sandboxFault
	}
	checker, ok := s.sandbox.(interface {
		Check(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	return checker.Check(s.ctx) // it confines a program for real
}

// announceSandbox lets clients know what there is because there is a sandbox.
func (s *Server) announceSandbox() {
	there := s.sandbox != nil
	c := &s.info.Capabilities
	// Files and folders are looked at in a sandbox, and files opened there.
	c.CapabilityDiscoverySandbox = there
	c.SandboxedFileStreaming = there
	// Who may write everywhere still has devices that work, and what is taken away
	// from that stays so, also if the user has approved of more.
	c.LinuxRootWritePreservesDevices = there
	c.LinuxApprovedRootWritePreservesRestriction = there
}
