package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/longtext"
	"github.com/airlock-exec/airlock/protocol"
)

// ID is a request id: a string or a signed 64-bit integer. It keeps the JSON
// text it came in, so that it is echoed unchanged. The zero ID is absent.
type ID struct{ text string }

// parseErrorID is the id of replies to what could not be parsed.
var parseErrorID = ID{"-1"}

// numberID makes the id of one of our own calls.
func numberID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// number returns the id as an integer, if it is one.
func (id ID) number() (int64, bool) {
	n, err := strconv.ParseInt(id.text, 10, 64)
	return n, err == nil
}

// Kind is what a message is.
type Kind int

// Kinds of message.
const (
	KindRequest Kind = iota
	KindNotification
	KindResponse
)

// Message is one parsed message. Its slices point into the bytes it was
// parsed from.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	// Params of a request or notification; empty if there were none.
	Params jsontext.Value
	// Result and Error of a response: exactly one is set.
	Result jsontext.Value
	Error  *protocol.Error
	// Trace is the W3C trace context of a request, if it came with one.
	Trace Trace

	fault error // why an answer can't be taken in
}

// Trace is a W3C trace context, as far as a peer has sent it.
// See https://www.w3.org/TR/trace-context/.
type Trace struct {
	Parent string `json:"traceparent"`
	State  string `json:"tracestate"`
}

// members are the parts of a message that have a meaning, as raw JSON.
type members struct {
	id, method, params, result, err, trace jsontext.Value
}

// Parse parses one message. The error's text says what is wrong with it.
func Parse(data []byte) (Message, error) {
	if err := checkBounds(data); err != nil {
		return Message{}, err
	}
	m, err := split(data)
	if err != nil {
		return Message{}, err
	}
	return classify(m)
}

// split checks the whole text and finds the members of its top-level object. A
// long string is checked beforehand, and left out.
func split(data []byte) (members, error) {
	if begin, end, found := longtext.Find(data); found {
		shortened := cut{slices.Concat(data[:begin], data[end:]), data, begin}
		if m, err := shortened.split(); err == nil {
			return m, nil
		}
		// In the whole text, the fault has another place.
	}
	return cut{data, data, len(data)}.split()
}

// cut is a text with and without something at one place.
type cut struct {
	without, with []byte
	at            int
}

// part returns the part of the whole text that is from begin to end in the
// shorter one. Neither is within the string that lacks its content.
func (c cut) part(begin, end int64) jsontext.Value {
	missing := len(c.with) - len(c.without)
	from, to := int(begin), int(end)
	if from > c.at {
		from += missing
	}
	if to > c.at {
		to += missing
	}
	return c.with[from:to]
}

func (c cut) split() (members, error) {
	var m members
	data := c.without
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return m, syntaxError(data, err)
		}
		if err := atEnd(dec, data); err != nil {
			return m, err
		}
		return m, errors.New("expected a JSON-RPC object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, syntaxError(data, err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return m, syntaxError(data, err)
		}
		var ignored jsontext.Value
		into := &ignored
		switch name.String() {
		case "id":
			into = &m.id
		case "method":
			into = &m.method
		case "params":
			into = &m.params
		case "result":
			into = &m.result
		case "error":
			into = &m.err
		case "trace":
			into = &m.trace
		}
		value, err := dec.ReadValue()
		if err != nil {
			return m, syntaxError(data, err)
		}
		// The decoder may reuse what it returned; the message stays.
		end := dec.InputOffset()
		*into = c.part(end-int64(len(value)), end)
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, syntaxError(data, err)
	}
	return m, atEnd(dec, data)
}

// atEnd makes sure that nothing follows the first value.
func atEnd(dec *jsontext.Decoder, data []byte) error {
	switch _, err := dec.ReadToken(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return syntaxError(data, err)
	default:
		return fmt.Errorf("trailing characters at %s", position(data, int(dec.InputOffset())-1))
	}
}

// answerID returns which call is answered by what can't be parsed, as far as that
// can be seen.
func answerID(data []byte) (id ID, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	if dec.PeekKind() != '{' {
		return ID{}, false
	}
	for _, err := dec.ReadToken(); err == nil && dec.PeekKind() != '}'; {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		switch name.String() {
		case "method":
			return ID{}, false
		case "id":
			var value jsontext.Value
			if value, err = dec.ReadValue(); err == nil {
				id = ID{string(value)}
			}
		default:
			err = dec.SkipValue()
		}
	}
	_, ok = id.number()
	return id, ok
}

// syntaxError words a decoder's error as the dialect does.
func syntaxError(data []byte, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("EOF while parsing a value at %s", position(data, len(data)))
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err
	}
	where := position(data, int(syntax.ByteOffset))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		end := stringEnd(data, int(syntax.ByteOffset))
		return fmt.Errorf("duplicate JSON object key `%s` at %s",
			shorten(syntax.JSONPointer.LastToken()), position(data, end-1))
	}
	return fmt.Errorf("%w at %s", syntax.Err, where)
}

// shorten bounds a peer's text inside an error text.
func shorten(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// classify tells requests, notifications and responses apart: what has a
// method is a request or, without an id, a notification, whatever else it has.
func classify(m members) (Message, error) {
	var msg Message
	var err error
	if m.id != nil {
		if msg.ID, err = parseID(m.id); err != nil {
			return Message{}, err
		}
	}
	switch {
	case m.method != nil:
		if msg.Method, err = parseString(m.method); err != nil {
			return Message{}, err
		}
		msg.Params = m.params
		if m.id == nil {
			msg.Kind = KindNotification // and a malformed trace is ignored
			return msg, nil
		}
		msg.Trace, err = parseTrace(m.trace)
		return msg, err
	case m.id == nil && m.result == nil && m.err == nil:
		return Message{}, errors.New("missing field `error`")
	case m.id == nil:
		return Message{}, errors.New("missing field `id`")
	case m.result != nil:
		msg.Kind, msg.Result = KindResponse, m.result
		return msg, nil
	case m.err != nil:
		msg.Kind = KindResponse
		msg.Error, err = parseError(m.err)
		return msg, err
	default:
		return Message{}, errors.New("missing field `error`")
	}
}

// parseID accepts strings and integers of 64 bits.
func parseID(v jsontext.Value) (ID, error) {
	switch v.Kind() {
	case '"':
		return ID{string(v)}, nil
	case '0':
		if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return ID{string(v)}, nil
		}
	}
	return ID{}, errors.New("data did not match any variant of untagged enum RequestId")
}

func parseString(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", fmt.Errorf("invalid type: %s, expected a string", v.Kind())
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err
}

func parseTrace(v jsontext.Value) (Trace, error) {
	if v == nil || v.Kind() == 'n' {
		return Trace{}, nil
	}
	if v.Kind() != '{' {
		return Trace{}, fmt.Errorf("invalid type: %s, expected struct W3cTraceContext", v.Kind())
	}
	wire, err := protocol.Decode[struct {
		Parent *string `json:"traceparent"`
		State  *string `json:"tracestate"`
	}](v)
	if err != nil {
		return Trace{}, err
	}
	var t Trace
	if wire.Parent != nil {
		t.Parent = *wire.Parent
	}
	if wire.State != nil {
		t.State = *wire.State
	}
	return t, nil
}

func parseError(v jsontext.Value) (*protocol.Error, error) {
	e, err := protocol.Decode[protocol.Error](v)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// appendRequest appends a request.
func appendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id.text...)
	dst = append(dst, `,"method":`...)
	dst = appendQuoted(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// appendError appends the answer to a request that failed.
func appendError(dst []byte, id ID, e *protocol.Error) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	dst = append(dst, `,"message":`...)
	dst = appendQuoted(dst, e.Message)
	dst = append(dst, `},"id":`...)
	dst = append(dst, id.text...)
	return append(dst, '}')
}

// appendQuoted appends s as a JSON string. The error only says that bytes which
// are not UTF-8 (a file name in an error text, say) were replaced.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
