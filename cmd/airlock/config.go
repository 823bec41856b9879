package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// configFile is the name of a configuration file. Its keys are the names of
// flags; a value counts unless the flag was given.
type configFile string

// BeforeResolve reads the file, if one was named.
func (configFile) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	path := string(ctx.FlagValue(trace.Flag).(configFile))
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	values, err := parseConfig(document, ctx.Flags())
	if err != nil {
		return fmt.Errorf("%s%w", path, err)
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if text, ok := values[flag.Name]; ok {
			return text, nil
		}
		return nil, nil
	}))
	return nil
}

// isSetting tells the flags that a configuration can hold from those that only
// make sense on a command line.
func isSetting(flag *kong.Flag) bool {
	return !slices.Contains([]string{"help", "version", "config", "print-config"}, flag.Name)
}

// parseConfig returns the texts of a document's values by the names of their
// flags. The error is about the first line that is wrong; it begins ":LINE: ".
func parseConfig(document []byte, flags []*kong.Flag) (map[string]string, error) {
	var parsed map[string]any
	if err := toml.Unmarshal(document, &parsed); err != nil {
		line := 1
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = decode.Position()
		}
		return nil, fmt.Errorf(":%d: %s", line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	settings := map[string]*kong.Flag{}
	var names []string
	for _, flag := range flags {
		if isSetting(flag) {
			settings[flag.Name] = flag
			names = append(names, flag.Name)
		}
	}
	texts := map[string]string{}
	var first error
	firstLine := 0
	for key, value := range parsed {
		var err error
		if flag := settings[key]; flag != nil {
			texts[key], err = settingText(flag, value)
		} else {
			err = unknownKey(key, names)
		}
		if line := lineOf(document, key); err != nil && (first == nil || line < firstLine) {
			first, firstLine = fmt.Errorf(":%d: %w", line, err), line
		}
	}
	return texts, first
}

// unknownKey names what the key could have been.
func unknownKey(key string, names []string) error {
	similar := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	if slices.Contains(names, similar) {
		return fmt.Errorf("unknown key %q: did you mean %q?", key, similar)
	}
	return fmt.Errorf("unknown key %q: remove it, or use one of %s", key, strings.Join(names, ", "))
}

// settingText returns a value as it would stand on a command line, after it has
// been checked like there.
func settingText(flag *kong.Flag, value any) (string, error) {
	typ := flag.Target.Type()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var fits bool
	var want string
	switch typ.Kind() {
	case reflect.Bool:
		_, fits = value.(bool)
		want = "true or false"
	case reflect.Uint64:
		_, fits = value.(int64)
		want = "a whole number, without quotes"
	case reflect.Slice:
		value, fits = listText(value)
		want = "an array of strings in quotes, none of which has a comma"
	default:
		_, fits = value.(string)
		want = "a string in quotes"
	}
	if !fits {
		return "", fmt.Errorf("%s must be %s", flag.Name, want)
	}
	text := fmt.Sprint(value)
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), text) {
		return "", fmt.Errorf("%s is %q, but must be one of %q", flag.Name, text, flag.EnumSlice())
	}
	scan := kong.Scan().PushTyped(text, kong.FlagValueToken)
	err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, reflect.New(flag.Target.Type()).Elem())
	if wrong, ok := errors.AsType[*valueError](err); ok {
		return "", fmt.Errorf("%s is %q: %w", flag.Name, text, wrong.reason)
	}
	return text, err
}

// listText returns an array of strings as it would stand on a command line.
func listText(value any) (text string, ok bool) {
	elements, ok := value.([]any)
	texts := make([]string, len(elements))
	for i, element := range elements {
		text, isText := element.(string)
		ok = ok && isText && !strings.Contains(text, ",")
		texts[i] = text
	}
	return strings.Join(texts, ","), ok
}

// lineOf returns the line of a key or table at the top of a document, whose
// keys are known to be unique.
func lineOf(document []byte, key string) int {
	number := 0
	for line := range strings.Lines(string(document)) {
		number++
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t[\"'"), key)
		if ok && strings.ContainsAny(rest[:min(1, len(rest))], " \t\"'=.]") {
			return number
		}
	}
	return 1 // a key written with escapes
}

// printConfig writes a configuration file that has the effect of the flags.
func printConfig(w io.Writer, flags []*kong.Flag) error {
	for _, flag := range flags {
		if !isSetting(flag) {
			continue
		}
		sentence, _, _ := strings.Cut(flag.Help, ". ")
		line, err := settingLine(flag)
		if err != nil {
			return fmt.Errorf("printing %s: %w", flag.Name, err)
		}
		if _, err := fmt.Fprintf(w, "# %s.\n%s\n", strings.TrimSuffix(sentence, "."), line); err != nil {
			return err
		}
	}
	return nil
}

// settingLine returns the line of a configuration file for a flag, or a comment
// if the flag is not set.
func settingLine(flag *kong.Flag) (string, error) {
	value := flag.Target
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	} else if value.Kind() == reflect.Pointer || (value.Kind() == reflect.String || value.Kind() == reflect.Slice) && value.Len() == 0 {
		return "# " + flag.Name + " =\n", nil
	}
	var setting any
	switch value.Kind() {
	case reflect.Bool:
		setting = value.Bool()
	case reflect.Uint64:
		setting = value.Uint()
	case reflect.Slice:
		setting = value.Interface()
	default:
		setting = fmt.Sprint(value.Interface())
	}
	line, err := toml.Marshal(map[string]any{flag.Name: setting})
	return string(line), err
}
