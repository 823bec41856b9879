package protocol

// CloseStdinParams ends the standard input of a process, behind the writes that
// came before.
type CloseStdinParams struct {
	ProcessID string `json:"processId"`
}

// CloseStdinResult answers airlock/processCloseStdin.
type CloseStdinResult struct{}
