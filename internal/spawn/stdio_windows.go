package spawn

import (
	"errors"
	"io"
	"os"

	"github.com/airlock-exec/airlock/internal/limits"
)

// stream is the reading end of a pipe.
type stream struct {
	name Stream
	file *os.File
	buf  [limits.ChunkBytes]byte
}

// pass waits for output and hands one read over. It returns io.EOF at the end.
func (s *stream) pass(ev Events) error {
	n, err := s.file.Read(s.buf[:])
	if n > 0 {
		ev.Output(s.name, s.buf[:n])
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// interrupt does nothing, see settle, so that drain is never called.
func (s *stream) interrupt() {}

// giveUp makes pass end.
func (s *stream) giveUp() { s.close() }

func (s *stream) drain(Events) error { return nil }

func (s *stream) close() { _ = s.file.Close() }

// stdio is both sides of the standard streams of a child that is being made.
type stdio struct {
	child   []*os.File
	input   *os.File
	streams []*stream
}

func openStdio(cmd *Command) (*stdio, error) {
	s := &stdio{}
	err := s.openInput(cmd.Stdin)
	for _, name := range []Stream{Stdout, Stderr} {
		r, w, openErr := os.Pipe()
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		s.child = append(s.child, w)
		s.streams = append(s.streams, &stream{name: name, file: r})
	}
	if err != nil {
		s.closeChild()
		s.closeOurs()
		return nil, err
	}
	return s, nil
}

func (s *stdio) openInput(writable bool) error {
	if writable {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		s.child = append(s.child, r)
		s.input = w
		return nil
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	s.child = append(s.child, null)
	return nil
}

func (s *stdio) closeChild() {
	for _, file := range s.child {
		file.Close()
	}
}

func (s *stdio) closeOurs() {
	for _, stream := range s.streams {
		stream.close()
	}
	if s.input != nil {
		s.input.Close()
	}
}
