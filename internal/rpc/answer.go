package rpc

import (
	"errors"

	"github.com/airlock-exec/airlock/protocol"
)

// AppendFunc is a result that appends its own JSON to dst, which holds the
// beginning of the answer already: what is large need not be held a second time.
// It is called once, when the answer is made, by the goroutine that does so. With
// an error that goes in the result's place, and what has been appended is
// dropped.
type AppendFunc func(dst []byte) ([]byte, error)

// appendAnswer appends the answer to a request.
func appendAnswer(dst []byte, id ID, reply Reply) []byte {
	err := reply.Err
	if err == nil {
		var answer []byte
		if answer, err = appendResult(dst, id, reply.Result); err == nil {
			return answer
		}
	}
	return appendError(dst, id, wireError(err))
}

// appendResult appends the answer to a request that succeeded.
func appendResult(dst []byte, id ID, result any) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id.text...)
	dst = append(dst, `,"result":`...)
	var err error
	if appender, ok := result.(AppendFunc); ok {
		dst, err = appender(dst)
	} else {
		dst, err = protocol.AppendEncode(dst, result)
	}
	return append(dst, '}'), err
}

// wireError maps every error to what is sent.
func wireError(err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	return &protocol.Error{Code: protocol.CodeInternal, Message: err.Error()}
}
