package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// blockBytes is the largest block that there is.
const blockBytes = mebibyte

// blocks reads a file by blocks, and writes another one, over and over, one block
// after the other, and sees how much either makes a server grow.
func blocks(ctx context.Context, t *target, n sizes) (sample, error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	encoded := encodeBlocks(file.data)
	s := sample{}
	err = growth(ctx, t, s, func(c *client) (err error) {
		s["read"], err = readBlocks(c, file.path, encoded, n.blocks)
		return err
	})
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(n.fixtures.dir, "copy")
	err = growth(ctx, t, s, func(c *client) (err error) {
		s["write"], err = writeBlocks(c, copied, encoded, n.blocks)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, sameFile(copied, file.data[:min(n.blocks*blockBytes, len(file.data))])
}

// growth runs f against a fresh server, and raises the figure of that name to what
// the server has grown by, if that can be measured here.
func growth(ctx context.Context, t *target, s sample, f func(*client) error) error {
	return t.withClient(ctx, nil, func(c *client, srv *instance) error {
		pid := srv.cmd.Process.Pid
		before, errBefore := residentBytes(pid)
		errReset := resetPeak(pid)
		if err := f(c); err != nil {
			return err
		}
		peak, errPeak := peakBytes(pid)
		switch err := errors.Join(errBefore, errReset, errPeak); {
		case errors.Is(err, errNotAvailable):
			return nil // the rates are worth having alone
		case err != nil:
			return err
		}
		s["growth"] = max(s["growth"], (peak-before)/megabyte)
		return nil
	})
}

// encodeBlocks returns the blocks of data as they travel.
func encodeBlocks(data []byte) (encoded [][]byte) {
	for ; len(data) > 0; data = data[blockBytes:] {
		encoded = append(encoded, base64.StdEncoding.AppendEncode(nil, data[:blockBytes]))
	}
	return encoded
}

// readBlocks reads so many blocks and returns the rate. All of them must be what
// is in the file; that is seen while the clock stands.
func readBlocks(c *client, path string, encoded [][]byte, n int) (rate float64, err error) {
	open := fmt.Appendf(nil, `{"handleId":"r","path":%q}`, fileURI(path))
	if _, err := c.askRaw("fs/open", open); err != nil {
		return 0, err
	}
	var took time.Duration
	for i := range n {
		at := i % len(encoded)
		params := fmt.Appendf(nil, `{"handleId":"r","offset":%d,"len":%d}`, at*blockBytes, blockBytes)
		begin := time.Now()
		result, err := c.askRaw("fs/readBlock", params)
		took += time.Since(begin)
		if err != nil {
			return 0, err
		}
		if got, ok := scanString(result, `"chunk":"`); !ok || !bytes.Equal(got, encoded[at]) {
			return 0, fmt.Errorf("fs/readBlock: got %d bytes that are not block %d of the file", len(result), at)
		}
	}
	return blockRate(n, took), c.call("fs/close", map[string]string{"handleId": "r"})
}

// writeBlocks writes so many blocks and returns the rate.
func writeBlocks(c *client, path string, encoded [][]byte, n int) (rate float64, err error) {
	open := fmt.Appendf(nil, `{"handleId":"w","path":%q,"mode":"replace"}`, fileURI(path))
	if _, err := c.askRaw("fs/open", open); err != nil {
		return 0, err
	}
	var params []byte
	var took time.Duration
	for i := range n {
		at := i % len(encoded)
		params = fmt.Appendf(params[:0], `{"handleId":"w","offset":%d,"chunk":"%s"}`, at*blockBytes, encoded[at])
		begin := time.Now()
		if _, err := c.askRaw("fs/writeBlock", params); err != nil {
			return 0, err
		}
		took += time.Since(begin)
	}
	return blockRate(n, took), c.call("fs/close", map[string]string{"handleId": "w"})
}

// sameFile sees whether a file has been written as it should be.
func sameFile(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("fs/writeBlock: %s is not what was written", path)
	}
	return err
}

// bareBlocks is the least a server has to do: read a block and write it the way
// it travels, and the other way round.
func bareBlocks(_ context.Context, n sizes) (s sample, err error) {
	file, err := n.fixtures.makeFile()
	if err != nil {
		return nil, err
	}
	from, err := os.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(n.fixtures.dir, "copy"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	block, encoded := make([]byte, blockBytes), []byte(nil)
	s = sample{}
	s["read"], err = bareBlockRate(n.blocks, func(at int64) error {
		_, err := from.ReadAt(block, at)
		encoded = base64.StdEncoding.AppendEncode(encoded[:0], block)
		return err
	})
	if err != nil {
		return nil, err
	}
	s["write"], err = bareBlockRate(n.blocks, func(at int64) error {
		decoded, err := base64.StdEncoding.AppendDecode(block[:0], encoded)
		if err == nil {
			_, err = to.WriteAt(decoded, at)
		}
		return err
	})
	return s, err
}

// bareBlockRate calls f for the offsets of so many blocks.
func bareBlockRate(n int, f func(at int64) error) (rate float64, err error) {
	begin := time.Now()
	for i := range n {
		if err := f(int64(i%fileMiB) * blockBytes); err != nil {
			return 0, err
		}
	}
	return blockRate(n, time.Since(begin)), nil
}

// blockRate is in MiB/s.
func blockRate(n int, took time.Duration) float64 {
	return float64(n) * blockBytes / mebibyte / took.Seconds()
}
