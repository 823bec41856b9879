package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

// draw makes a value of a type as it may stand on the wire.
func draw(t *rapid.T, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch kind := typ.Kind(); {
	case typ == reflect.TypeFor[protocol.PathURI]():
		uri, err := protocol.ParsePathURI("file://h/" + rapid.String().Draw(t, "path"))
		if err != nil {
			uri, _ = protocol.ParsePathURI("file:///tmp")
		}
		v.Set(reflect.ValueOf(uri))
	case typ == reflect.TypeFor[protocol.NonZero]():
		v.SetUint(max(1, rapid.Uint64().Draw(t, "number")))
	case typ == reflect.TypeFor[protocol.UUID]():
		v.Set(reflect.ValueOf(protocol.NewUUID()))
	case typ == reflect.TypeFor[protocol.FileData]():
		v.Field(0).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes"))
	case typ == reflect.TypeFor[jsontext.Value]():
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `{"a":[1,"x"]}`}).Draw(t, "raw")))
	case kind == reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(typ.Elem()))
			v.Elem().Set(draw(t, typ.Elem()))
		}
	case kind == reflect.Struct && isUnion(typ):
		drawUnion(t, v)
	case kind == reflect.Struct:
		for i := range typ.NumField() {
			v.Field(i).Set(draw(t, typ.Field(i).Type))
		}
	case kind == reflect.String:
		if variants := protocol.Variants(typ); variants != nil {
			v.SetString(rapid.SampledFrom(variants).Draw(t, "variant"))
		} else {
			v.SetString(rapid.String().Draw(t, "string"))
		}
	case kind == reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int <= kind && kind <= reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - typ.Bits()))
	case reflect.Uint <= kind && kind <= reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - typ.Bits()))
	case kind == reflect.Slice && typ.Elem().Kind() == reflect.Uint8:
		v.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes"))
	case kind == reflect.Slice:
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			v.Set(reflect.Append(v, draw(t, typ.Elem())))
		}
	case kind == reflect.Map:
		v.Set(reflect.MakeMap(typ))
		for range rapid.IntRange(0, 2).Draw(t, "size") {
			v.SetMapIndex(draw(t, typ.Key()), draw(t, typ.Elem()))
		}
	default:
		t.Fatalf("no values of type %s: teach draw", typ)
	}
	return v
}

func isUnion(t reflect.Type) bool {
	tag, _ := protocol.Union(t)
	return tag != ""
}

// drawUnion makes one of the objects that v can be.
func drawUnion(t *rapid.T, v reflect.Value) {
	_, objects := protocol.Union(v.Type())
	o := rapid.SampledFrom(objects).Draw(t, "object")
	v.Field(0).SetString(o.Name) // the tag comes first in all of them
	for _, m := range o.Members {
		member := v.FieldByIndex(m.Field.Index)
		switch kind := member.Kind(); {
		case m.Required && kind == reflect.Pointer:
			member.Set(reflect.New(member.Type().Elem()))
			member.Elem().Set(draw(t, member.Type().Elem()))
		case m.Required && kind == reflect.Slice:
			member.Set(reflect.AppendSlice(reflect.MakeSlice(member.Type(), 0, 0), draw(t, member.Type())))
		default:
			member.Set(draw(t, member.Type()))
		}
	}
}

// replacements are put in the place of parts of values. What schema and decoder see
// differently is not among them: TestDifferences has that.
var replacements = []string{
	`null`, `true`, `false`, `0`, `-1`, `1.5`, `65536`, `2147483648`, `18446744073709551616`, `""`, `"x"`, `"stdout"`,
	`"none"`, `"INT"`, `"YQ=="`, `"YR=="`, `"Y"`, `"YQ="`, `"Y==="`, `"file:///a"`,
	`"67e55044-10b1-426f-9247-bb680e5fe0c8"`, `"{67e5504410b1426f9247bb680e5fe0c8}"`,
	`"urn:uuid:67E55044-10B1-426F-9247-BB680E5FE0C8"`, `"{67e55044-10b1-426f-9247-bb680e5fe0c8}"`, `"urn:uuid:{x}"`,
	`[]`, `["x"]`, `[null]`, `{}`, `{"x":1}`,
}

func replacement(t *rapid.T) any {
	return parse([]byte(rapid.SampledFrom(replacements).Draw(t, "replacement")))
}

// mutate changes a value somewhere.
func mutate(t *rapid.T, value any) any {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	names := slices.Sorted(maps.Keys(object))
	choices := []string{"replace"}
	if isObject {
		choices = append(choices, "add")
	}
	if len(names)+len(list) > 0 {
		choices = append(choices, "inside", "inside", "inside", "remove")
	}
	switch choice := rapid.SampledFrom(choices).Draw(t, "change"); {
	case choice == "replace":
		return replacement(t)
	case choice == "add":
		object["unheardOf"] = replacement(t)
	case choice == "inside" && isObject:
		name := rapid.SampledFrom(names).Draw(t, "name")
		object[name] = mutate(t, object[name])
	case isObject:
		delete(object, rapid.SampledFrom(names).Draw(t, "name"))
	case choice == "inside" && isList:
		i := rapid.IntRange(0, len(list)-1).Draw(t, "index")
		list[i] = mutate(t, list[i])
	default:
		return list[1:]
	}
	return value
}

// TestSchemaAgrees asserts that what is encoded fits its schema, and that of what is
// changed after that the schema refuses just what the decoder does.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse(generated(t)["schema.json"]).(map[string]any)}
	for _, p := range payloads() {
		t.Run(p.Type.Name(), func(t *testing.T) {
			t.Parallel()
			schema := v.resolve("#/$defs/" + p.Type.Name())
			rapid.Check(t, func(t *rapid.T) {
				text, err := protocol.Encode(draw(t, p.Type).Interface())
				if err != nil {
					t.Fatal(err)
				}
				value := parse(text)
				if err := v.check(schema, value); err != nil {
					t.Fatalf("the schema refuses %s: %v", text, err)
				}
				for range rapid.IntRange(1, 3).Draw(t, "changes") {
					value = mutate(t, value)
				}
				if text, err = json.Marshal(value); err != nil {
					t.Fatal(err)
				}
				_, decodes := p.Decode(text)
				if fits := v.check(schema, value); (fits == nil) != (decodes == nil) {
					t.Fatalf("%s\nby the schema: %v\nby the decoder: %v", text, fits, decodes)
				}
			})
		})
	}
}

// TestDifferences lists what schema and decoder see differently.
func TestDifferences(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse(generated(t)["schema.json"]).(map[string]any)}
	resize := func(rows string) string { return `{"processId":"p","cols":80,"rows":` + rows + `}` }
	start := func(cwd string) string {
		return `{"processId":"p","argv":[],"cwd":"` + cwd + `","env":{},"tty":false}`
	}
	for _, test := range []struct {
		name, raw     string
		fits, decodes bool
	}{
		// To JSON Schema these are integers; the dialect goes by how a number is written.
		{"ResizeParams", resize("24"), true, true},
		{"ResizeParams", resize("24.0"), true, false},
		{"ResizeParams", resize("2e1"), true, false},
		{"ResizeParams", resize("-0"), true, true},
		{"ResizeParams", resize("24.5"), false, false},
		// What a number means is up to the method: 0 rows are refused there.
		{"ResizeParams", resize("0"), true, true},
		// A client sends paths in their canonical form; more is read.
		{"StartParams", start("file:///tmp"), true, true},
		{"StartParams", start("FILE:/tmp"), false, true},
		{"StartParams", start("file:tmp"), false, true},
		{"StartParams", start(" file:///tmp"), false, true},
		{"StartParams", start("/tmp"), false, false},
		// A pattern can't tell which URIs are paths.
		{"StartParams", start("file:///tmp?x"), true, false},
		{"StartParams", start("file:///%00"), true, false},
		// The method tells what is wrong with the data of a file.
		{"WriteFileParams", `{"path":"file:///a","dataBase64":"!"}`, true, true},
		{"WriteFileParams", `{"path":"file:///a","dataBase64":1}`, false, false},
		// Whoever decodes the value has not seen the text: a parser before a schema takes
		// either one of two members, most likely the last.
		{"TerminateParams", `{"processId":"p","processId":"q"}`, true, false},
	} {
		value := parse([]byte(test.raw))
		i := slices.IndexFunc(payloads(), func(p protocol.Payload) bool { return p.Type.Name() == test.name })
		fits := v.check(v.resolve("#/$defs/"+test.name), value)
		_, decodes := payloads()[i].Decode([]byte(test.raw))
		if (fits == nil) != test.fits || (decodes == nil) != test.decodes {
			t.Errorf("%s\nby the schema (want %v): %v\nby the decoder (want %v): %v",
				test.raw, test.fits, fits, test.decodes, decodes)
		}
	}
	// Missing parameters are null.
	for _, p := range payloads() {
		_, decodes := p.Decode(nil)
		fits := v.check(v.resolve("#/$defs/"+p.Type.Name()), nil)
		if (fits == nil) != (decodes == nil) {
			t.Errorf("%s: missing: by the schema %v, by the decoder %v", p.Type, fits, decodes)
		}
	}
}

// TestValidator asserts that the validator can refuse.
func TestValidator(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse([]byte(`{"$defs":{"s":{"type":"string"}}}`)).(map[string]any)}
	for _, test := range []struct{ schema, good, bad string }{
		{`{"type":"string"}`, `"x"`, `1`},
		{`{"type":["string","null"]}`, `null`, `true`},
		{`{"type":"integer"}`, `1.0`, `1.5`},
		{`{"minimum":0,"maximum":18446744073709551615}`, `18446744073709551615`, `18446744073709551616`},
		{`{"minimum":0}`, `0`, `-1`},
		{`{"enum":["a","b"]}`, `"b"`, `"c"`},
		{`{"pattern":"^a$"}`, `"a"`, `"ab"`},
		{`{"$ref":"#/$defs/s"}`, `"x"`, `[]`},
		{`{"anyOf":[{"type":"null"},{"type":"array"}]}`, `[]`, `{}`},
		{`{"required":["a"]}`, `{"a":1}`, `{"b":1}`},
		{`{"properties":{"a":{"type":"null"}}}`, `{"b":1}`, `{"a":1}`},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"additionalProperties":{"type":"null"}}`, `{"b":null}`, `{"b":1}`},
		{`{"propertyNames":{"enum":["a"]}}`, `{"a":1}`, `{"b":1}`},
		{`{"items":{"type":"null"}}`, `[null]`, `[null,1]`},
		{`{"maxProperties":0}`, `{}`, `{"a":1}`},
		{`{}`, `7`, ``},
		{`{"oneOf":[]}`, ``, `7`}, // not known
	} {
		if test.good != "" {
			if err := v.check(parse([]byte(test.schema)), parse([]byte(test.good))); err != nil {
				t.Errorf("%s: %s: %v", test.schema, test.good, err)
			}
		}
		if test.bad != "" && v.check(parse([]byte(test.schema)), parse([]byte(test.bad))) == nil {
			t.Errorf("%s: %s fits", test.schema, test.bad)
		}
	}
	if !strings.Contains(base64, "AQgw") {
		t.Error("the pattern of base64 does not look at stray bits")
	}
}
