package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads parameters or a result. Missing parameters (no bytes) are null.
//
// The error is an [*Error] with [CodeInvalidParams] that names the first fault
// in the order of the text; what an object lacks counts as a fault at its end.
func Decode[T any](raw []byte) (T, error) { return DecodeUsing[T](raw, makeBytes) }

// DecodeUsing is [Decode] for those that have memory to use again: room is called
// at most once, for that of a long [Bytes] member, and returns so many bytes,
// whatever they are.
func DecodeUsing[T any](raw []byte, room func(size int) []byte) (T, error) {
	var v T
	if len(raw) == 0 {
		raw = []byte("null")
	}
	if decodeLong(raw, reflect.ValueOf(&v).Elem(), room) {
		return v, nil
	}
	v = *new(T) // decodeLong may have left something
	t := target{v: reflect.ValueOf(&v).Elem()}
	if err := json.Unmarshal(raw, &t); err != nil {
		var zero T
		return zero, Errorf(CodeInvalidParams, "%s", faultText(err))
	}
	return v, nil
}

// target lets [json.Unmarshal] hand over its decoder, which it takes from a
// pool and checks for trailing text.
type target struct{ v reflect.Value }

func (t *target) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return decodeValue(dec, t.v)
}

// faultText returns what a peer is told about an error: what is wrong with its
// text, without names from this program.
func faultText(err error) string {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Sprintf("duplicate JSON object key `%s`", shorten(syntax.JSONPointer.LastToken(), maxQuoted))
		}
		return fmt.Sprintf("invalid JSON: %s at byte %d", syntax.Err, syntax.ByteOffset)
	}
	if member, ok := errors.AsType[*memberError](err); ok {
		return "`" + member.name + "`: " + faultText(member.err)
	}
	for {
		semantic, ok := errors.AsType[*json.SemanticError](err)
		if !ok {
			return err.Error()
		}
		if semantic.Err == nil {
			return "invalid type: " + semantic.JSONKind.String()
		}
		err = semantic.Err
	}
}

// memberError is an error about a member.
type memberError struct {
	name string
	err  error
}

func (e *memberError) Error() string { return "`" + e.name + "`: " + e.err.Error() }
func (e *memberError) Unwrap() error { return e.err }

func decodeValue(dec *jsontext.Decoder, v reflect.Value) error {
	return schemaOf(v.Type()).decode(dec, v)
}

// typeError describes the next value, which is not what was expected.
func typeError(dec *jsontext.Decoder, expected string) error {
	kind := dec.PeekKind()
	fault := &typeFaultError{kind: kind, expected: expected}
	switch kind {
	case '"', 't', 'f':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		fault.text = token.String()
	case '0':
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		fault.text = string(value)
	case 'n', '{', '[':
	default:
		_, err := dec.ReadToken() // not JSON
		return err
	}
	return fault
}

// typeFaultError is a value that is of another type than what was expected.
type typeFaultError struct {
	kind           jsontext.Kind
	text, expected string
	spelt          bool // a number is told, as the dialect does in some places
}

func (f *typeFaultError) Error() string {
	return "invalid type: " + f.value() + ", expected " + f.expected
}

func (f *typeFaultError) value() string {
	switch f.kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean `" + f.text + "`"
	case '"':
		return "string " + strconv.Quote(shorten(f.text, maxQuoted))
	case '{':
		return "map"
	case '[':
		return "sequence"
	}
	switch {
	case !f.spelt:
		return "number"
	case f.isInteger():
		return "integer `" + shorten(f.text, maxQuoted) + "`"
	}
	return "floating point `" + shorten(f.text, maxQuoted) + "`"
}

func (f *typeFaultError) isInteger() bool { return !strings.ContainsAny(f.text, ".eE") }

// readText reads a string. What it returns may be part of the input.
func readText(dec *jsontext.Decoder, expected string) ([]byte, error) {
	if dec.PeekKind() != '"' {
		return nil, typeError(dec, expected)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	return jsontext.AppendUnquote(nil, raw)
}
