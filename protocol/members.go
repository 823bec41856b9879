package protocol

import (
	"reflect"
	"slices"
)

// Member describes a member of an object as [Decode] takes it.
type Member struct {
	Name string
	// Field is the field of the Go struct. If its type is a pointer, the member
	// may be null.
	Field reflect.StructField
	// Required says that the member may not be missing.
	Required bool
	// Object says that a [jsontext.Value] must be an object, or null if the member
	// is not required.
	Object bool
}

// Members returns the members of a struct that is an object on the wire, in their
// order, and whether there may be no others.
func Members(t reflect.Type) (members []Member, closed bool) {
	s := schemaOf(t)
	for _, f := range s.fields {
		members = append(members, Member{
			Name: f.name, Field: t.Field(f.index), Required: f.required,
			Object: f.object != "" && t.Field(f.index).Type == rawType,
		})
	}
	return members, s.closed
}

// Variants returns the values that a string type is limited to; nil if it is not.
func Variants(t reflect.Type) []string { return slices.Clone(variants[t]) }

// UnionVariant describes one of the objects that a union can be.
type UnionVariant struct {
	// Name is the value of the tag.
	Name string
	// Members are those besides the tag.
	Members []Member
}

// Union returns the name of the member that tells which object a struct is, and
// those that there are; "" if it is always the same.
func Union(t reflect.Type) (tag string, objects []UnionVariant) {
	s := schemaOf(t)
	for _, v := range s.union.variants {
		object := UnionVariant{Name: v.name}
		for _, f := range s.fields {
			required := slices.Contains(v.required, f.name)
			if required || slices.Contains(v.optional, f.name) {
				object.Members = append(object.Members, Member{Name: f.name, Field: t.Field(f.index), Required: required})
			}
		}
		objects = append(objects, object)
	}
	return s.union.tag, objects
}
