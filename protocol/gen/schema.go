package main

import (
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/protocol"
)

// builder makes JSON Schemas of types. Each named type has a definition of its own.
type builder struct {
	notes       *notes
	folder      string // of the definitions, as references have it
	definitions map[string]object
}

// newBuilder makes the definitions of all that the contract has.
func newBuilder(n *notes, folder string) *builder {
	b := &builder{notes: n, folder: folder, definitions: map[string]object{}}
	for _, m := range protocol.Contract() {
		b.schema(m.Params.Type)
		if !m.IsNotification() {
			b.schema(m.Result.Type)
		}
	}
	b.schema(reflect.TypeFor[protocol.Error]())
	b.schema(reflect.TypeFor[protocol.ErrorKind]())
	return b
}

// sorted returns the definitions in the order of their names.
func (b *builder) sorted() object {
	var all object
	for _, name := range slices.Sorted(maps.Keys(b.definitions)) {
		all = append(all, member{name, b.definitions[name]})
	}
	return all
}

// schema returns the schema of a type; of a named one, a reference.
func (b *builder) schema(t reflect.Type) object {
	name := t.Name()
	if t.PkgPath() == "" || t == reflect.TypeFor[jsontext.Value]() {
		return b.define(t)
	}
	if _, done := b.definitions[name]; !done {
		b.definitions[name] = nil // it may refer to itself
		b.definitions[name] = b.define(t).described(b.notes.about(t))
	}
	return object{{"$ref", b.folder + name}}
}

// Spellings of what is text on the wire.
const (
	// base64 is the padded standard alphabet, without stray bits in the last symbol.
	base64 = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$`
	uuid   = `^([0-9A-Fa-f]{32}|(urn:uuid:)?` + groups + `|\{` + groups + `\})$`
	groups = `[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`
	// fileURI is how a PathURI is written. More is read.
	fileURI = `^file://`
)

// special are types that are not on the wire what they are in Go.
var special = map[reflect.Type]object{
	reflect.TypeFor[protocol.Bytes](): {{"type", "string"}, {"contentEncoding", "base64"}, {"pattern", base64}},
	// More is read, and then refused by the method.
	reflect.TypeFor[protocol.FileData](): {{"type", "string"}, {"contentEncoding", "base64"}},
	reflect.TypeFor[protocol.UUID]():     {{"type", "string"}, {"pattern", uuid}},
	reflect.TypeFor[protocol.PathURI](): {
		{"type", "string"}, {"format", "uri"}, {"pattern", fileURI},
	},
	reflect.TypeFor[protocol.Unit]():  {{"type", []string{"object", "null"}}, {"maxProperties", 0}},
	reflect.TypeFor[jsontext.Value](): {},
	reflect.TypeFor[protocol.NonZero](): {
		{"type", "integer"}, {"minimum", 1}, {"maximum", ^uint64(0)},
	},
}

// define returns the schema of a type itself.
func (b *builder) define(t reflect.Type) object {
	kind := t.Kind()
	switch {
	case special[t] != nil:
		return slices.Clone(special[t])
	case kind == reflect.Pointer:
		return nullable(b.schema(t.Elem()))
	case kind == reflect.Struct:
		return b.structure(t)
	case kind == reflect.String && protocol.Variants(t) != nil:
		return object{{"type", "string"}, {"enum", protocol.Variants(t)}}
	case kind == reflect.String && len(b.notes.named[t.Name()]) > 0:
		var known []string
		for _, c := range b.notes.named[t.Name()] {
			known = append(known, c.value)
		}
		return object{{"type", "string"}, {"examples", known}}
	case kind == reflect.String:
		return object{{"type", "string"}}
	case kind == reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int <= kind && kind <= reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return object{{"type", "integer"}, {"minimum", -most - 1}, {"maximum", most}}
	case reflect.Uint <= kind && kind <= reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}, {"maximum", ^uint64(0) >> (64 - t.Bits())}}
	case kind == reflect.Slice:
		return object{{"type", "array"}, {"items", b.schema(t.Elem())}}
	case kind == reflect.Map:
		o := object{{"type", "object"}}
		if protocol.Variants(t.Key()) != nil {
			o = append(o, member{"propertyNames", b.schema(t.Key())})
		}
		return append(o, member{"additionalProperties", b.schema(t.Elem())})
	}
	panic("gen: values of type " + t.String() + " have no schema")
}

// structure returns the schema of an object with known members.
func (b *builder) structure(t reflect.Type) object {
	if tag, objects := protocol.Union(t); tag != "" {
		return b.union(t, tag, objects)
	}
	members, closed := protocol.Members(t)
	properties, required := object{}, []string{}
	for _, m := range members {
		property := b.member(m).described(b.notes.field(t, m.Field))
		properties = append(properties, member{m.Name, property})
		if m.Required {
			required = append(required, m.Name)
		}
	}
	o := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	if closed {
		o = append(o, member{"additionalProperties", false})
	}
	return o
}

// union returns the schema of an object that is one of several, which a member
// tells.
func (b *builder) union(t reflect.Type, tag string, objects []protocol.UnionVariant) object {
	var either []object
	for _, o := range objects {
		properties := object{{tag, object{{"type", "string"}, {"enum", []string{o.Name}}}}}
		required := []string{tag}
		for _, m := range o.Members {
			values := m.Field.Type
			if m.Required && values.Kind() == reflect.Pointer {
				values = values.Elem() // it may be missing from the other objects only
			}
			properties = append(properties, member{m.Name, b.schema(values).described(b.notes.field(t, m.Field))})
			if m.Required {
				required = append(required, m.Name)
			}
		}
		either = append(either, object{{"type", "object"}, {"properties", properties}, {"required", required}})
	}
	return object{{"anyOf", either}}
}

// member returns the schema of the values of a member.
func (b *builder) member(m protocol.Member) object {
	switch {
	case m.Object && m.Required:
		return object{{"type", "object"}}
	case m.Object:
		return nullable(object{{"type", "object"}})
	}
	return b.schema(m.Field.Type)
}

// nullable lets null be a value, too.
func nullable(schema object) object {
	for i, m := range schema {
		if m.name == "type" && schema.get("enum") == nil {
			schema[i].value = []any{m.value, "null"}
			return schema
		}
	}
	return object{{"anyOf", []object{schema, {{"type", "null"}}}}}
}

// schemaDocument is a JSON Schema with a definition for each type on the wire.
func schemaDocument(n *notes) object {
	return object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Types of the Airlock protocol"},
		{"description", "Parameters, results and errors of the exec-server protocol, that of Codex " +
			protocol.CompatibleVersion + " and what Airlock adds. Unknown members are ignored where " +
			"additionalProperties is not false; integers are written without fraction and exponent. " +
			"Generated from package protocol by `go generate ./protocol`."},
		{"$defs", newBuilder(n, "#/$defs/").sorted()},
	}
}
