package fetch

import (
	"context"
	"fmt"
	"io"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// readBody reads a body to its end. What the origin says about its size, or -1, is
// not relied on.
func (e *Exchange) readBody(ctx context.Context, body io.Reader, announced int64) ([]byte, error) {
	limit := e.conn.fetcher.maxBody
	data := []byte{}
	for {
		if len(data) == cap(data) {
			grown, err := e.grow(data, announced)
			if err != nil {
				return nil, bodyError(err.Error())
			}
			data = grown
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, bodyError(fmt.Sprintf("it has more than %d bytes; ask for it with streamResponse, "+
				"or have the executor started with a larger --http-max-body", limit))
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, bodyError(e.bodyText(ctx, err))
		}
	}
}

// grow returns the data in more memory.
func (e *Exchange) grow(data []byte, announced int64) ([]byte, error) {
	have := int64(cap(data))
	size := max(2*have, limits.HTTPReadBytes)
	// One byte more than there is shows the end.
	if announced >= have && announced < 2*size {
		size = announced + 1
	}
	size = min(size, e.conn.fetcher.maxBody+1)
	if !e.takeMemory(size - have) {
		return nil, errNoMemory
	}
	grown := make([]byte, len(data), size)
	copy(grown, data)
	return grown, nil
}

// bodyError is about the body of an answer. The beginning is the dialect's.
func bodyError(text string) error {
	return protocol.Errorf(protocol.CodeInternal, "failed to read http/request response body: %s", text)
}
