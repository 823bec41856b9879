package protocol

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func decodeUnit(dec *jsontext.Decoder, _ reflect.Value) error {
	switch dec.PeekKind() {
	case 'n':
		_, err := dec.ReadToken()
		return err
	case '{':
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		if dec.PeekKind() != '}' {
			return errors.New("invalid type: map, expected unit")
		}
		_, err := dec.ReadToken()
		return err
	}
	return typeError(dec, "unit")
}

// decodeRaw takes a value as it stands, null as nil.
func decodeRaw(dec *jsontext.Decoder, v reflect.Value) error {
	value, err := dec.ReadValue()
	if err == nil && value.Kind() != 'n' {
		v.SetBytes(slices.Clone(value))
	}
	return err
}

func decodePointer(dec *jsontext.Decoder, v reflect.Value) error {
	if dec.PeekKind() == 'n' {
		_, err := dec.ReadToken()
		return err
	}
	v.Set(reflect.New(v.Type().Elem()))
	return decodeValue(dec, v.Elem())
}

func decodeCustom(dec *jsontext.Decoder, v reflect.Value) error {
	return json.UnmarshalDecode(dec, v.Addr().Interface())
}

func decodeText(dec *jsontext.Decoder, v reflect.Value) error {
	text, err := readText(dec, "a string")
	if err != nil {
		return err
	}
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
}

func decodeVariant(dec *jsontext.Decoder, v reflect.Value) error {
	text, err := readText(dec, "string or map")
	if err != nil {
		return err
	}
	known := variants[v.Type()]
	for _, name := range known {
		if name == string(text) {
			v.SetString(name)
			return nil
		}
	}
	return fmt.Errorf("unknown variant `%s`, expected %s", shorten(string(text), maxQuoted), oneOf(known))
}

// oneOf lists what there may be.
func oneOf(names []string) string {
	quoted := "`" + strings.Join(names, "`, `") + "`"
	switch len(names) {
	case 1:
		return quoted
	case 2:
		return "`" + names[0] + "` or `" + names[1] + "`"
	}
	return "one of " + quoted
}

func decodeString(dec *jsontext.Decoder, v reflect.Value) error {
	text, err := readText(dec, "a string")
	if err == nil {
		v.SetString(string(text))
	}
	return err
}

func decodeBool(dec *jsontext.Decoder, v reflect.Value) error {
	if kind := dec.PeekKind(); kind != 't' && kind != 'f' {
		return typeError(dec, "a boolean")
	}
	token, err := dec.ReadToken()
	if err == nil {
		v.SetBool(token.Bool())
	}
	return err
}

var errNumber = errors.New("invalid number")

func decodeInt(dec *jsontext.Decoder, v reflect.Value) error {
	text, err := readNumber(dec, v)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if err != nil {
		return errNumber
	}
	v.SetInt(n)
	return nil
}

func decodeUint(dec *jsontext.Decoder, v reflect.Value) error {
	text, err := readNumber(dec, v)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(text, 10, v.Type().Bits())
	if err != nil {
		return errNumber
	}
	v.SetUint(n)
	return nil
}

// readNumber reads the number for an integer v.
func readNumber(dec *jsontext.Decoder, v reflect.Value) (string, error) {
	if dec.PeekKind() != '0' {
		return "", typeError(dec, fmt.Sprintf("%c%d", v.Kind().String()[0], v.Type().Bits()))
	}
	value, err := dec.ReadValue()
	if string(value) == "-0" {
		return "0", err
	}
	return string(value), err
}

func decodeSlice(dec *jsontext.Decoder, v reflect.Value) error {
	if dec.PeekKind() != '[' {
		return typeError(dec, "a sequence")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	element := schemaOf(v.Type().Elem())
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for n := 0; dec.PeekKind() != ']'; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		if err := element.decode(dec, v.Index(n)); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func decodeMap(dec *jsontext.Decoder, v reflect.Value) error {
	if dec.PeekKind() != '{' {
		return typeError(dec, "a map")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	t := v.Type()
	keys, elements := schemaOf(t.Key()), schemaOf(t.Elem())
	key, element := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	v.Set(reflect.MakeMap(t))
	for dec.PeekKind() != '}' {
		element.SetZero() // nothing of the last one may stay
		if err := keys.decode(dec, key); err != nil {
			return err
		}
		if err := elements.decode(dec, element); err != nil {
			return err
		}
		v.SetMapIndex(key, element)
	}
	_, err := dec.ReadToken()
	return err
}
