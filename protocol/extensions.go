package protocol

// InitializeExtra is Airlock's addition to [InitializeParams].
type InitializeExtra struct {
	// Takeover resumes the session even while another connection is attached
	// to it, which is closed. Feature [FeatureTakeover].
	Takeover bool `json:"takeover,omitzero"`
	// Window, if not 0, is how many bytes of output of each process are sent to
	// this connection before it has granted more: see
	// [ProcessWindowNotification]. Feature [FeatureProcessWindow].
	Window uint64 `json:"window,omitzero"`
}

// ProcessWindowNotification tells an executor that the client has taken so many
// bytes of a process's output, and that as many more may be sent. A chunk is
// sent whole while any of the window is left. What can't be sent holds back its
// own process only.
type ProcessWindowNotification struct {
	ProcessID string `json:"processId"`
	Bytes     uint64 `json:"bytes"`
}

// EventExtra is Airlock's addition to the notifications of a process. It is set
// if events right before this one have been dropped.
type EventExtra struct {
	// FirstSeq is the oldest sequence number that can still be read.
	FirstSeq uint64 `json:"firstSeq"`
	// DroppedBytes counts the bytes of each stream before FirstSeq. All of
	// them are gone, received or not.
	DroppedBytes map[Stream]uint64 `json:"droppedBytes"`
}

// CloseStdinParams ends the standard input of a process, behind the writes that
// came before.
type CloseStdinParams struct {
	ProcessID string `json:"processId"`
}

// CloseStdinResult answers airlock/processCloseStdin.
type CloseStdinResult struct{}
