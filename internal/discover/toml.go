package discover

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/airlock-exec/airlock/internal/limits"
)

// table is a table of TOML.
type table = map[string]any

// parseTOML reads TOML. The error says where in the text it is, as LINE:COLUMN
// where that is known.
func parseTOML(data []byte) (table, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if signs := bytes.Count(data, []byte("=")) + bytes.Count(data, []byte("[")); signs > limits.ConfigSigns {
		return nil, fmt.Errorf(" it has too many keys and tables: %d, the limit is %d", signs, limits.ConfigSigns)
	}
	var parsed table
	err := toml.Unmarshal(data, &parsed)
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := fault.Position()
		return nil, fmt.Errorf("%d:%d: %s", line, column, strings.TrimPrefix(fault.Error(), "toml: "))
	} else if err != nil {
		return nil, fmt.Errorf(" %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	if depthOf(parsed, 0) > limits.ConfigDepth {
		return nil, fmt.Errorf(" tables are nested too deep: the limit is %d", limits.ConfigDepth)
	}
	return parsed, nil
}

// depthOf returns how deep a value is nested, or something more than the limit.
func depthOf(value any, above int) int {
	deepest := above
	look := func(inner any) {
		if deepest <= limits.ConfigDepth {
			deepest = max(deepest, depthOf(inner, above+1))
		}
	}
	switch value := value.(type) {
	case table:
		for _, inner := range value {
			look(inner)
		}
	case []any:
		for _, inner := range value {
			look(inner)
		}
	}
	return deepest
}

// selectPaths returns what paths lead to, in the tables that it stands in; nil if
// that is nothing. A value on the way that is no table is what its path leads to.
func selectPaths(from table, paths [][]string) table {
	selected := table{}
	for _, path := range paths {
		pick(selected, from, path)
	}
	return selected
}

func pick(into, from table, path []string) {
	value, found := from[path[0]]
	inner, isTable := value.(table)
	switch {
	case !found:
	case len(path) == 1 || !isTable:
		into[path[0]] = value
	default:
		// If it has been picked as a whole, the same is put where it is.
		picked, _ := into[path[0]].(table)
		if picked == nil {
			picked = table{}
		}
		pick(picked, inner, path[1:])
		if len(picked) > 0 {
			into[path[0]] = picked
		}
	}
}
