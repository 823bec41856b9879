package spawn

// Silent returns a channel that is closed when all streams have ended: when the
// process has exited, and nobody holds them any more or they have been given up.
func (p *Process) Silent() <-chan struct{} {
	ended := make(chan struct{})
	go func() { // ends with the process: Closed waits for the same
		p.flowing.Wait()
		close(ended)
	}()
	return ended
}
