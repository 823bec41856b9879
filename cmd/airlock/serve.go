package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/server"
)

// serveCommand is `airlock serve`. Its flags down to the authentication are
// those of the Codex exec-server.
type serveCommand struct {
	Listen             string    `default:"ws://127.0.0.1:0" placeholder:"URL" help:"Serve at ws://IP:PORT, or on stdio (default ${default}). Port 0 takes any free port; the URL to connect to is printed on standard output."`
	ControlSocket      string    `default:"auto" placeholder:"PATH" complete:"file" help:"Make the Unix socket for airlock ps, attach, kill and top at this path (default ${default}). Its folder must be closed to everybody but this user; one that is not there yet is made so (mode 0700). With auto it is where those commands look; off means none."`
	ConcurrentRequests peerCount `default:"1" placeholder:"COUNT" help:"Handle this many requests of a connection at the same time (default ${default})."`

	WSAuth                *string  `enum:"capability-token,signed-bearer-token" group:"auth" placeholder:"MODE" help:"Demand a capability-token or a signed-bearer-token of clients."`
	WSTokenFile           string   `group:"auth" placeholder:"PATH" complete:"file" help:"Read the capability token from this file."`
	WSTokenSHA256         string   `name:"ws-token-sha256" group:"auth" placeholder:"HEX" help:"Take the SHA-256 of the capability token in place of the token."`
	WSSharedSecretFile    string   `group:"auth" placeholder:"PATH" complete:"file" help:"Read the secret that signs bearer tokens (HS256) from this file."`
	WSIssuer              *string  `group:"auth" placeholder:"ISSUER" help:"Demand this issuer of signed tokens."`
	WSAudience            *string  `group:"auth" placeholder:"AUDIENCE" help:"Demand this audience of signed tokens."`
	WSMaxClockSkewSeconds *seconds `group:"auth" placeholder:"SECONDS" help:"Accept signed tokens this long before and after their time (default 30)."`
	RequireAuth           bool     `group:"auth" help:"Refuse to listen beyond this machine without authentication."`

	Trees            string   `default:"auto" enum:"auto,cgroup2,freezer,walk,group,job" group:"limits" placeholder:"MEANS" help:"Hold a process together with all that it starts by this means (default ${default}). They are cgroup2, freezer (control groups of version 1), walk (through all processes), group (process groups only) and, on Windows, job; auto takes the strongest that works here. What does not work here is an error."`
	SessionTTL       duration `default:"80s" group:"limits" placeholder:"TIME" help:"Keep a session this long for its client to come back (default ${default})."`
	ProcessRetention duration `default:"80s" group:"limits" placeholder:"TIME" help:"Keep what a finished process has said this long (default ${default})."`
	StallTimeout     duration `default:"2s" group:"limits" placeholder:"TIME" help:"Let processes run on when their client has taken nothing of what is sent to it for so long (default ${default})."`
	StallDrop        duration `default:"60s" group:"limits" placeholder:"TIME" help:"Disconnect such a client after this time; it can resume its session (default ${default})."`
	SpillBytes       size     `default:"256MiB" group:"limits" placeholder:"SIZE" help:"Keep up to this much output of a process in a temporary file (default ${default}). It is what does not stay in memory; with 0 that is dropped."`
	SpillTotalBytes  size     `default:"4GiB" group:"limits" placeholder:"SIZE" help:"Let those files have this size together (default ${default})."`
	SpillDir         string   `group:"limits" placeholder:"DIR" complete:"file" help:"Make those files, which have no names, in this folder (default: where temporary files belong)."`
	PingInterval     duration `default:"30s" group:"limits" placeholder:"TIME" help:"Ping every WebSocket client this often (default ${default})."`
	PingTimeout      duration `default:"90s" group:"limits" placeholder:"TIME" help:"Drop a WebSocket client that is silent for this long (default ${default})."`
	MaxConnections   count    `default:"8192" group:"limits" placeholder:"COUNT" help:"Refuse WebSocket clients above this number (default ${default})."`
	MaxSessions      count    `default:"4096" group:"limits" placeholder:"COUNT" help:"Refuse sessions above this number (default ${default})."`
	MaxProcesses     count    `default:"4096" group:"limits" placeholder:"COUNT" help:"Refuse processes of a session above this number, those that are retained included (default ${default})."`

	HTTPDeny    []string `name:"http-deny" group:"limits" placeholder:"TARGETS" help:"Let no HTTP request of a client reach these targets, with commas between (default none). They are addresses, networks (169.254.0.0/16), host names, and names of which all below are meant (*.internal). May be given more than once."`
	HTTPMaxBody size     `name:"http-max-body" default:"64MiB" group:"limits" placeholder:"SIZE" help:"Let the body of an answer to an HTTP request have this size, unless it is streamed (default ${default})."`

	SandboxTier      string `default:"auto" enum:"auto,namespaces,landlock" group:"sandbox" placeholder:"TIER" help:"Confine by this means whatever a client asks a sandbox for (default ${default}). They are namespaces and landlock; auto takes the first of them that works here and can enforce what is asked for. What does not work here is an error; what can't be enforced is refused."`
	SandboxOuterProc bool   `group:"sandbox" help:"Let confined commands see the processes of the host where no /proc of their own can be mounted. That is so in many containers; without it such a sandbox is refused."`
	SandboxNesting   bool   `group:"sandbox" help:"Let confined commands make namespaces, so that sandboxes work within the sandbox. More of the kernel can be reached from inside then."`

	Disable features `group:"limits" placeholder:"NAMES" help:"Switch additions to the protocol off, with commas between. They are takeover, processWindow, processCloseStdin, processStdin, processResize, processTimeouts, processLimits, processSignal, processTerminate, processList, fsOpenKeep, fsRename, fsChmod, fsReadRange, fsSearch, fsWatch, sandboxTier, sandboxDenials and sandboxSetupError; all stands for every one. What agents look for on this host can be switched off besides: environmentConfigRead and capabilityDiscoveryV2."`

	Config      configFile `group:"config" placeholder:"FILE" complete:"file" help:"Read settings from a TOML file whose keys are the names of these flags. A flag that is given wins over the file."`
	PrintConfig bool       `group:"config" help:"Print the settings in force as a configuration file and exit. Secrets are not read, let alone printed."`
}

// Help is printed between the summary and the flags.
func (*serveCommand) Help() string {
	return `One line is written to standard output, the URL to connect to, once clients can. With "--listen stdio" one client is served on standard input and output, until standard input ends.

SIGTERM and SIGINT kill everything that was started, and end the server with status 0. A second one ends the program at once.`
}

// Run serves until a signal arrives or, on stdio, the client leaves.
func (c *serveCommand) Run(ctx *kong.Context, log *logFlags) error {
	if c.PingTimeout <= c.PingInterval {
		return fmt.Errorf("--ping-timeout (%v) must be longer than --ping-interval (%v), or every silent client is dropped",
			c.PingTimeout, c.PingInterval)
	}
	if c.HTTPMaxBody == 0 {
		return errors.New("--http-max-body must be at least 1")
	}
	if err := c.checkSpill(); err != nil {
		return err
	}
	address, err := transport.ParseListen(c.Listen)
	if err != nil {
		return err
	}
	if c.PrintConfig {
		return printConfig(ctx.Stdout, ctx.Flags())
	}
	// Broken pipes are errors of the write, not the end of the program: what
	// reads our log may go away. The signal is not ignored, because children
	// would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the program at once, whatever keeps it.
	context.AfterFunc(stopped, stop)

	logger := log.logger(os.Stderr)
	if address.IsStdio() {
		return c.serveStdio(stopped, logger)
	}
	return c.serveWebSocket(stopped, address, logger, ctx.Stdout)
}

// checkSpill refuses what could not be used when it is needed.
func (c *serveCommand) checkSpill() error {
	if c.SpillBytes != 0 && c.SpillBytes < server.MinSpillBytes {
		return fmt.Errorf("--spill-bytes (%v) must be 0, for none, or at least %v", c.SpillBytes, size(server.MinSpillBytes))
	}
	if c.SpillTotalBytes < c.SpillBytes {
		return fmt.Errorf("--spill-total-bytes (%v) must be at least --spill-bytes (%v)", c.SpillTotalBytes, c.SpillBytes)
	}
	if c.SpillDir == "" {
		return nil
	}
	if info, err := os.Stat(c.SpillDir); err != nil {
		return fmt.Errorf("--spill-dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("--spill-dir: %s is not a folder", c.SpillDir)
	}
	return nil
}

// spillBytes returns the size as package server takes it.
func (c *serveCommand) spillBytes() int64 {
	if c.SpillBytes == 0 {
		return -1
	}
	return int64(c.SpillBytes)
}

func (c *serveCommand) serveStdio(ctx context.Context, logger *slog.Logger) error {
	auth, err := transport.NewAuthenticator(c.auth())
	if err != nil {
		return err
	}
	if auth != nil {
		return transport.ErrAuthOverStdio
	}
	executor, err := c.newExecutor(logger)
	if err != nil {
		return err
	}
	defer executor.Close()
	stopControl, err := c.serveControl(executor, "stdio", logger)
	if err != nil {
		return err
	}
	defer stopControl()
	// Why the client left makes no difference: all of this program was for it.
	_ = executor.ServeStdio(ctx, os.Stdin, os.Stdout)
	return nil
}

func (c *serveCommand) serveWebSocket(ctx context.Context, address transport.Address, logger *slog.Logger, stdout io.Writer) error {
	open := !address.IsLoopback() && c.WSAuth == nil
	if open && c.RequireAuth {
		return fmt.Errorf("--require-auth refuses to listen at %s without authentication: "+
			"set --ws-auth, or listen on a loopback address", c.Listen)
	}
	executor, err := c.newExecutor(logger)
	if err != nil {
		return err
	}
	listener, err := executor.Listen(server.ListenConfig{
		URL:            c.Listen,
		Auth:           c.auth(),
		PingInterval:   time.Duration(c.PingInterval),
		PingTimeout:    time.Duration(c.PingTimeout),
		MaxConnections: c.MaxConnections.int(),
	})
	if err != nil {
		executor.Close()
		return err
	}
	stopControl, err := c.serveControl(executor, listener.URL(), logger)
	if err != nil {
		executor.Close()
		listener.Close()
		return err
	}
	defer func() {
		executor.Close() // first: a client that hangs must not keep processes alive
		stopControl()
		soon(listener.Close)
	}()
	warnOfReaders(logger, c.WSTokenFile)
	warnOfReaders(logger, c.WSSharedSecretFile)
	if open {
		// Not by the logger, whose level could hide it.
		fmt.Fprintf(os.Stderr, "WARNING: %s can be reached from other machines and asks for no authentication: "+
			"whoever connects can run any command as this user. "+
			"Set --ws-auth, or listen on a loopback address.\n", listener.URL())
	}
	// Clients that connect now have to wait, but are not refused.
	if _, err := fmt.Fprintln(stdout, listener.URL()); err != nil {
		return fmt.Errorf("telling the URL on standard output: %w", err)
	}
	served := make(chan error, 1)
	go func() { served <- listener.Serve() }() // until it is closed
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return err
	}
}

// soon does something, but does not wait long for a request that hangs, in the
// kernel perhaps: the program ends anyway.
func soon(do func()) {
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// newExecutor makes the executor, unless it could not do what is asked of it.
func (c *serveCommand) newExecutor(logger *slog.Logger) (*server.Server, error) {
	executor := server.New(server.Config{
		ConcurrentRequests: count(c.ConcurrentRequests).atMost(limits.ConcurrentRequests),
		SessionTTL:         time.Duration(c.SessionTTL),
		ProcessRetention:   time.Duration(c.ProcessRetention),
		MaxSessions:        c.MaxSessions.int(),
		MaxProcesses:       c.MaxProcesses.int(),
		StallTimeout:       time.Duration(c.StallTimeout),
		StallDrop:          time.Duration(c.StallDrop),
		SpillBytes:         c.spillBytes(),
		SpillTotalBytes:    int64(c.SpillTotalBytes),
		SpillDir:           c.SpillDir,
		Trees:              c.Trees,
		SandboxTier:        c.sandboxTier(),
		SandboxOuterProc:   c.SandboxOuterProc,
		SandboxNesting:     c.SandboxNesting,
		HTTPDeny:           c.HTTPDeny,
		HTTPMaxBody:        int64(c.HTTPMaxBody),
		Disable:            c.Disable.names(),
		OwnsProgram:        true,
		Logger:             logger,
		Version:            airlockVersion(),
	})
	err := executor.CheckHTTP() // it names the flag
	if err == nil {
		if err = executor.Check(); err != nil {
			err = fmt.Errorf("--trees=%s: %w", c.Trees, err)
		} else if err = executor.CheckSandbox(); err != nil {
			err = fmt.Errorf("--sandbox-tier=%s: %w", c.SandboxTier, err)
		}
	}
	if err != nil {
		executor.Close()
		return nil, err
	}
	return executor, nil
}

// sandboxTier returns the tier as package server takes it.
func (c *serveCommand) sandboxTier() string {
	if c.SandboxTier == "auto" {
		return ""
	}
	return c.SandboxTier
}

func (c *serveCommand) auth() server.AuthConfig {
	config := server.AuthConfig{
		TokenFile:           c.WSTokenFile,
		TokenSHA256:         c.WSTokenSHA256,
		SharedSecretFile:    c.WSSharedSecretFile,
		Issuer:              c.WSIssuer,
		Audience:            c.WSAudience,
		MaxClockSkewSeconds: (*uint64)(c.WSMaxClockSkewSeconds),
	}
	if c.WSAuth != nil {
		config.Mode = *c.WSAuth
	}
	return config
}

// warnOfReaders warns of a secret that every user of the machine can read.
func warnOfReaders(logger *slog.Logger, path string) {
	const othersRead fs.FileMode = 0o004
	if path == "" || runtime.GOOS == "windows" { // whose permissions are not in the mode
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
		logger.Warn("every user of this machine can read the secret: take the permission away", "path", path)
	}
}
