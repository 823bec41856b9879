package spawn

// ending is how a process has ended.
type ending struct {
	code     int  // what [Events].Exited is called with
	signaled bool // code is 128 + a signal
	gone     bool // it has been reaped; its number may be another process's
}

// by tells whether a signal has ended the process.
func (e ending) by(signal int) bool { return e.signaled && signal != 0 && e.code == 128+signal }

// Lingered tells, when [Events].Closed is called, whether others have held the
// streams of the process open beyond its exit.
func (p *Process) Lingered() bool { return p.lingering.Load() }
