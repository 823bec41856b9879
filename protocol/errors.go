package protocol

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Code is a JSON-RPC error code.
type Code int64

// Error codes of the dialect.
const (
	// CodeInvalidRequest: not a message, out of turn, or an id that is unknown
	// or taken.
	CodeInvalidRequest Code = -32600
	// CodeMethodNotFound: no such method.
	CodeMethodNotFound Code = -32601
	// CodeInvalidParams: the parameters do not decode, or ask for what can't be.
	CodeInvalidParams Code = -32602
	// CodeInternal: the request was sound, but carrying it out failed.
	CodeInternal Code = -32603
	// CodeNotFound: there is no such file, or no such open file.
	CodeNotFound Code = -32004
	// CodeSessionAttached: the session is in use by another connection.
	CodeSessionAttached Code = -32010
)

// Error is an error as it travels on the wire.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Data is more about the error, or empty.
	Data jsontext.Value `json:"data,omitzero"`
}

// Error returns the message; the code is for programs.
func (e *Error) Error() string { return e.Message }

// Errorf makes an error without data.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorKind says why a process could not be started. It travels as the member
// kind of the error's data.
type ErrorKind string

// Reasons for a failed start.
const (
	KindSpawnNotFound         ErrorKind = "spawnNotFound"
	KindSpawnPermissionDenied ErrorKind = "spawnPermissionDenied"
	KindSpawnFailed           ErrorKind = "spawnFailed"
	KindSandboxUnavailable    ErrorKind = "sandboxUnavailable"
	KindSandboxPreparation    ErrorKind = "sandboxPreparation"
	// KindLimitUnavailable: one of the limits that were asked for can't be
	// enforced. Airlock's own.
	KindLimitUnavailable ErrorKind = "limitUnavailable"
)

// WithKind makes an error whose data tells why a process could not be started.
func WithKind(code Code, kind ErrorKind, msg string) *Error {
	data, _ := jsontext.AppendQuote([]byte(`{"kind":`), string(kind))
	return &Error{Code: code, Message: msg, Data: append(data, '}')}
}

// Kind returns why a process could not be started, or "" if the error does not
// tell.
func (e *Error) Kind() ErrorKind {
	var data struct {
		Kind ErrorKind `json:"kind"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.Kind
}
