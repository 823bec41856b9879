package fetch

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/airlock-exec/airlock/internal/limits"
)

// decoder makes what an encoded body stands for readable. It sets itself up when
// it is first read, which waits for the origin.
type decoder struct {
	source io.ReadCloser
	open   func(*bufio.Reader) (io.Reader, error)
	reader io.Reader // nil until the first read
	err    error     // of the set-up
	closes []func()
}

// decoded returns the body of an answer, decoded if that is known how to.
func (f *Fetcher) decoded(answer *http.Response) (body io.ReadCloser, was bool) {
	d := &decoder{source: answer.Body}
	switch encoding := answer.Header.Get("Content-Encoding"); {
	case strings.EqualFold(encoding, "gzip"):
		d.open = openGzip
	case strings.EqualFold(encoding, "zstd"):
		d.open = func(r *bufio.Reader) (io.Reader, error) { return f.openZstd(d, r) }
	default:
		return answer.Body, false
	}
	return d, true
}

// Read reads decoded bytes.
func (d *decoder) Read(p []byte) (int, error) {
	if d.reader == nil && d.err == nil {
		encoded := bufio.NewReader(d.source)
		if _, d.err = encoded.Peek(1); d.err == nil {
			d.reader, d.err = d.open(encoded)
		}
	}
	if d.err != nil {
		return 0, d.err // also io.EOF: nothing stands for nothing
	}
	return d.reader.Read(p)
}

// Close ends the reading.
func (d *decoder) Close() error {
	for _, end := range d.closes {
		end()
	}
	return d.source.Close()
}

// openGzip reads one member: what follows it does not count.
func openGzip(encoded *bufio.Reader) (io.Reader, error) {
	reader, err := gzip.NewReader(encoded)
	if err != nil {
		return nil, atEnd(err)
	}
	reader.Multistream(false)
	return reader, nil
}

// openZstd reads frames whose windows are not larger than that of the first one,
// which is what the origin makes us keep.
func (f *Fetcher) openZstd(d *decoder, encoded *bufio.Reader) (io.Reader, error) {
	start, err := encoded.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var header zstd.Header
	if err := header.Decode(start); err != nil {
		return nil, atEnd(err)
	}
	window := max(header.WindowSize, zstd.MinWindowSize)
	if window > limits.HTTPZstdWindow {
		return nil, fmt.Errorf("the zstd window is larger than %d bytes", limits.HTTPZstdWindow)
	}
	if !f.memory.take(int64(window)) {
		return nil, errNoMemory
	}
	d.closes = append(d.closes, func() { f.memory.give(int64(window)) })
	reader, err := zstd.NewReader(encoded,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	d.closes = append(d.closes, reader.Close)
	return reader, nil
}

// atEnd tells an encoding that ends too early from a body that has ended.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
