package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// validator judges values by the part of JSON Schema that the generator uses. What
// it does not know it refuses, so that no keyword goes unnoticed.
type validator struct {
	root map[string]any
}

// check says what is wrong with a value by a schema, or nothing.
func (v *validator) check(schema, value any) error {
	if allowed, boolean := schema.(bool); boolean {
		if !allowed {
			return fmt.Errorf("%v is not allowed", value)
		}
		return nil
	}
	for keyword, operand := range schema.(map[string]any) {
		if err := v.keyword(keyword, operand, schema.(map[string]any), value); err != nil {
			return fmt.Errorf("%s: %w", keyword, err)
		}
	}
	return nil
}

func (v *validator) keyword(keyword string, operand any, schema map[string]any, value any) error {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch keyword {
	case "description", "contentEncoding", "format", "examples":
		return nil // annotations
	case "type":
		types, several := operand.([]any)
		if !several {
			types = []any{operand}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return isOf(t.(string), value) }) {
			return fmt.Errorf("%v is none of %v", value, types)
		}
	case "enum":
		if !slices.Contains(operand.([]any), value) {
			return fmt.Errorf("%v is none of %v", value, operand)
		}
	case "anyOf":
		for _, s := range operand.([]any) {
			if v.check(s, value) == nil {
				return nil
			}
		}
		return fmt.Errorf("%v fits none", value)
	case "$ref":
		return v.check(v.resolve(operand.(string)), value)
	case "pattern":
		if isText && !regexp.MustCompile(operand.(string)).MatchString(text) {
			return fmt.Errorf("%q does not match %s", text, operand)
		}
	case "minimum", "maximum":
		if !isNumber {
			return nil
		}
		sign := rational(number).Cmp(rational(operand.(json.Number)))
		if keyword == "minimum" && sign < 0 || keyword == "maximum" && sign > 0 {
			return fmt.Errorf("%s is beyond %s", number, operand)
		}
	case "maxProperties":
		if isObject && rational(operand.(json.Number)).Cmp(big.NewRat(int64(len(object)), 1)) < 0 {
			return fmt.Errorf("%d are too many", len(object))
		}
	case "required":
		for _, name := range operand.([]any) {
			if _, found := object[name.(string)]; isObject && !found {
				return fmt.Errorf("%s is missing", name)
			}
		}
	case "items":
		for _, element := range list {
			if err := v.check(operand, element); isList && err != nil {
				return err
			}
		}
	case "properties", "additionalProperties", "propertyNames":
		for name, element := range object {
			if err := v.property(keyword, operand, schema, name, element); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	default:
		return fmt.Errorf("the validator does not know this keyword: teach it, as outsiders may not know it either")
	}
	return nil
}

func (v *validator) property(keyword string, operand any, schema map[string]any, name string, element any) error {
	properties, _ := schema["properties"].(map[string]any)
	property, known := properties[name]
	switch {
	case keyword == "propertyNames":
		return v.check(operand, name)
	case keyword == "properties" && known:
		return v.check(property, element)
	case keyword == "additionalProperties" && !known:
		return v.check(operand, element)
	}
	return nil
}

// resolve finds what a reference within the document points to.
func (v *validator) resolve(reference string) any {
	var schema any = v.root
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		next, found := schema.(map[string]any)[name]
		if !found {
			panic("the reference " + reference + " points nowhere")
		}
		schema = next
	}
	return schema
}

func isOf(name string, value any) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string" && utf8.ValidString(value)
	case json.Number:
		return name == "number" || name == "integer" && rational(value).IsInt()
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	panic(fmt.Sprintf("a value of type %T", value))
}

func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("not a number: " + n.String())
	}
	return r
}

// parse reads a JSON text for the validator.
func parse(text []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return value
}
