package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// union is a struct of which one member, the tag, says which others there are.
type union struct {
	tag      string
	variants []variant
}

type variant struct {
	name     string
	required []string // members that there have to be
	optional []string
}

// unions are the structs that are unions. The order of the variants is that of
// error texts.
var unions = map[reflect.Type]union{
	reflect.TypeFor[PermissionProfile](): {"type", []variant{
		{name: string(PermissionsManaged), required: []string{"file_system", "network"}},
		{name: string(PermissionsDisabled)},
		{name: string(PermissionsExternal), required: []string{"network"}},
	}},
	reflect.TypeFor[FileSystemPolicy](): {"type", []variant{
		{name: string(FileSystemRestricted), required: []string{"entries"}, optional: []string{"glob_scan_max_depth"}},
		{name: string(FileSystemUnrestricted)},
	}},
	reflect.TypeFor[SandboxPath](): {"type", []variant{
		{name: string(SandboxPathExact), required: []string{"path"}},
		{name: string(SandboxPathGlob), required: []string{"pattern"}},
		{name: string(SandboxPathSpecial), required: []string{"value"}},
	}},
	reflect.TypeFor[SpecialPath](): {"kind", []variant{
		{name: string(SpecialRoot)},
		{name: string(SpecialMinimal)},
		{name: string(SpecialCurrentDirectory)},
		{name: string(SpecialProjectRoots), optional: []string{"subpath"}},
		{name: string(SpecialTmpdir)},
		{name: string(SpecialSlashTmp)},
		{name: string(SpecialUnknown), required: []string{"path"}, optional: []string{"subpath"}},
	}},
}

// decodeUnion decodes the members that the variant has, and no others. The tag may
// stand anywhere, so the text is read twice.
func (s *schema) decodeUnion(dec *jsontext.Decoder, v reflect.Value) error {
	if dec.PeekKind() != '{' {
		return spelt(typeError(dec, s.expected))
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	raw = slices.Clone(raw)
	chosen, err := s.variant(jsontext.NewDecoder(bytes.NewBuffer(raw)))
	if err != nil {
		return err
	}
	v.Field(s.fields[s.byName[s.union.tag]].index).SetString(chosen.name)
	return s.decodeMembers(jsontext.NewDecoder(bytes.NewBuffer(raw)), v, chosen)
}

// variant reads an object until its tag.
func (s *schema) variant(dec *jsontext.Decoder) (*variant, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		name, err := readText(dec, "a name")
		if err != nil {
			return nil, err
		}
		if string(name) != s.union.tag {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		text, err := readText(dec, "variant identifier")
		if err != nil {
			return nil, err
		}
		for i := range s.union.variants {
			if s.union.variants[i].name == string(text) {
				return &s.union.variants[i], nil
			}
		}
		return nil, fmt.Errorf("unknown variant `%s`, expected %s", shorten(string(text), maxQuoted), oneOf(s.union.names()))
	}
	return nil, fmt.Errorf("missing field `%s`", s.union.tag)
}

func (u union) names() []string {
	names := make([]string, len(u.variants))
	for i, v := range u.variants {
		names[i] = v.name
	}
	return names
}

// decodeMembers decodes the members of a variant.
func (s *schema) decodeMembers(dec *jsontext.Decoder, v reflect.Value, chosen *variant) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	for dec.PeekKind() != '}' {
		name, err := readText(dec, "a name")
		if err != nil {
			return err
		}
		if !slices.Contains(chosen.required, string(name)) && !slices.Contains(chosen.optional, string(name)) {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		i := s.byName[string(name)]
		seen |= 1 << i
		value := v.Field(s.fields[i].index)
		if value.Kind() == reflect.Pointer && slices.Contains(chosen.required, string(name)) {
			value.Set(reflect.New(value.Type().Elem())) // null is no value for it
			value = value.Elem()
		}
		if err := decodeValue(dec, value); err != nil {
			return spelt(err)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for _, name := range chosen.required {
		if seen&(1<<s.byName[name]) == 0 {
			return fmt.Errorf("missing field `%s`", name)
		}
	}
	return nil
}

// spelt has an error tell a number, as the dialect does where it has looked at a value
// before.
func spelt(err error) error {
	if fault, ok := errors.AsType[*typeFaultError](err); ok {
		fault.spelt = true
	}
	return err
}

func decodeNonZero(dec *jsontext.Decoder, v reflect.Value) error {
	const expected = "a nonzero usize"
	if dec.PeekKind() != '0' {
		return typeError(dec, expected)
	}
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err == nil && n > 0 {
		v.SetUint(n)
		return nil
	}
	fault := typeFaultError{kind: '0', text: string(value), expected: expected, spelt: true}
	if fault.isInteger() {
		return fmt.Errorf("invalid value: integer `%s`, expected %s", shorten(fault.text, maxQuoted), expected)
	}
	return &fault
}
