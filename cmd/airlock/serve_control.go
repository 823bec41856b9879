package main

import (
	"errors"
	"log/slog"

	"github.com/airlock-exec/airlock/server"
)

// Values of --control-socket that are no paths.
const (
	controlAuto = "auto"
	controlOff  = "off"
)

// serveControl makes and serves the control socket, until the returned function is
// called, which does not wait long. Without one that was asked for by its path
// there is no executor; one that was not is not worth that.
func (c *serveCommand) serveControl(executor *server.Server, listen string, logger *slog.Logger) (stop func(), err error) {
	config := server.ControlConfig{Listen: []string{listen}}
	switch c.ControlSocket {
	case controlOff:
		return func() {}, nil
	case controlAuto:
	case "":
		return nil, errors.New("--control-socket is empty: expected a path, auto or off")
	default:
		config.Path = c.ControlSocket
	}
	control, err := executor.ListenControl(config)
	switch {
	case err == nil:
	case config.Path != "":
		return nil, err
	case errors.Is(err, errors.ErrUnsupported):
		logger.Debug("no control socket", "error", err)
		return func() {}, nil
	default:
		logger.Warn("no control socket: airlock ps, attach, kill and top can't reach this executor; "+
			"--control-socket=off says that this is right", "error", err)
		return func() {}, nil
	}
	logger.Debug("control socket", "path", control.Path())
	done := make(chan struct{})
	go func() { // until it is closed
		defer close(done)
		if err := control.Serve(); err != nil {
			logger.Error("the control socket has failed", "error", err)
		}
	}()
	return func() {
		soon(func() {
			control.Close()
			<-done
		})
	}, nil
}
