package main

import (
	"io"
	"log/slog"
)

// logFlags say what is logged. Logs never hold what is run, an environment or a
// token.
type logFlags struct {
	LogLevel  string `default:"warn" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Log what is at least as grave as debug, info, warn or error (default ${default})."`
	LogFormat string `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Log lines of text or json (default ${default})."`
}

// logger returns a logger that writes to w.
func (f *logFlags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{}
	var level slog.Level
	if level.UnmarshalText([]byte(f.LogLevel)) == nil { // always: kong has checked it
		options.Level = level
	}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
