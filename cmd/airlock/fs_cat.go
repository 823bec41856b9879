package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/protocol"
)

// fsCatCommand is `airlock fs cat`.
type fsCatCommand struct {
	Bytes interval `xor:"part" placeholder:"FROM-TO" help:"Print only these bytes of each file, from 0 on and the last one included. Without an end they are all that follow."`
	Lines interval `xor:"part" placeholder:"FROM-TO" help:"Print only these lines of each file, from 1 on and the last one included. Without an end they are all that follow."`

	Paths []string `arg:"" name:"path" complete:"file" help:"The files to print, one behind the other."`
}

// Help is printed between the summary and the flags.
func (*fsCatCommand) Help() string {
	return `What the files hold comes out as it is. With --bytes or --lines no more of a file is read than is needed; that an executor that is no Airlock can't find lines by itself makes no difference but that more is read.

    airlock fs cat --lines 100-120 main.go
    airlock fs cat --bytes 0-511 disk.img`
}

// interval is a part of a file: FROM-TO, FROM- or FROM alone.
type interval struct {
	from, to int64 // to is the last one
	isSet    bool
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (i *interval) UnmarshalText(text []byte) error {
	first, last, open := strings.Cut(string(text), "-")
	from, err := strconv.ParseUint(first, 10, 62)
	to := from
	switch {
	case err != nil:
	case last != "":
		to, err = strconv.ParseUint(last, 10, 62)
	case open:
		to = math.MaxInt64 - 1
	}
	if err != nil || to < from {
		return errors.New("expected FROM-TO, FROM- or one number, as in 0-511, 100- or 7")
	}
	*i = interval{int64(from), int64(to), true}
	return nil
}

// length returns how many bytes or lines it has.
func (i interval) length() int64 { return i.to - i.from + 1 }

// Run prints files.
func (c *fsCatCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	if c.Lines.isSet && c.Lines.from == 0 {
		return &exitError{exitUsage, errors.New("--lines: the first line is line 1")}
	}
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.each(c.Paths, func(path remotePath) error {
			err := c.print(ctx, h, path.uri)
			if flushErr := h.out.flush(); err == nil { // what one holds stands before the error of the next
				err = flushErr
			}
			return err
		})
	})
}

func (c *fsCatCommand) print(ctx context.Context, h *host, path protocol.PathURI) error {
	if c.Lines.isSet {
		return h.printLines(ctx, path, c.Lines)
	}
	file, err := h.Open(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	if !c.Bytes.isSet {
		_, err = file.WriteTo(h.out)
		return err
	}
	if _, err := file.Seek(c.Bytes.from, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(h.out, io.LimitReader(file, c.Bytes.length()))
	return err
}

// printLines prints lines of a file. The executor finds them, if it can.
func (h *host) printLines(ctx context.Context, path protocol.PathURI, lines interval) error {
	w := &lineWriter{w: h.out, skip: lines.from - 1, left: lines.length()}
	offset := int64(0)
	if offers(h.info, protocol.FeatureFSReadRange) {
		found, err := h.ReadLines(ctx, path, lines.from, lines.length())
		if err != nil {
			return err
		}
		w.skip = 0
		if _, err := w.Write(found.DataBase64); err != nil || !found.Truncated {
			return ignoreDone(err)
		}
		offset = int64(found.Offset) + int64(len(found.DataBase64))
	}
	file, err := h.Open(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	_, err = file.WriteTo(w)
	return ignoreDone(err)
}

// errLinesDone ends the reading of a file of which there is enough.
var errLinesDone = errors.New("all lines have been printed")

func ignoreDone(err error) error {
	if errors.Is(err, errLinesDone) {
		return nil
	}
	return err
}

// lineWriter passes some lines on.
type lineWriter struct {
	w          io.Writer
	skip, left int64 // lines
}

// Write implements [io.Writer].
func (w *lineWriter) Write(data []byte) (int, error) {
	total := len(data)
	for len(data) > 0 {
		if w.left == 0 {
			return total - len(data), errLinesDone
		}
		line := data
		end := bytes.IndexByte(data, '\n')
		if end >= 0 {
			line = data[:end+1]
		}
		data = data[len(line):]
		if w.skip == 0 {
			if _, err := w.w.Write(line); err != nil {
				return total - len(data), err
			}
		}
		switch {
		case end < 0:
		case w.skip > 0:
			w.skip--
		default:
			w.left--
		}
	}
	return total, nil
}
