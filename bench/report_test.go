package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// schema is as much of a JSON Schema as ours uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Enum       []any              `json:"enum"`
	Const      any                `json:"const"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Additional *schema            `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Defs       map[string]*schema `json:"$defs"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// violations lists where v is not as s, a part of root, says. A member that the
// schema does not know is one, too: it is ours to describe.
func (s *schema) violations(root *schema, at string, v any) []string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return root.Defs[name].violations(root, at, v)
	}
	var all []string
	if s.Enum != nil && !slices.Contains(s.Enum, v) || s.Const != nil && s.Const != v {
		all = append(all, at+": value")
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				all = append(all, at+"."+name+": missing")
			}
		}
		for name, member := range v {
			switch inner := s.Properties[name]; {
			case inner != nil:
				all = append(all, inner.violations(root, at+"."+name, member)...)
			case s.Additional != nil:
				all = append(all, s.Additional.violations(root, at+"."+name, member)...)
			default:
				all = append(all, at+"."+name+": unknown")
			}
		}
	case []any:
		if s.Items == nil {
			return append(all, at+": array")
		}
		for _, item := range v {
			all = append(all, s.Items.violations(root, at+"[]", item)...)
		}
	case string:
		if s.Type != "" && s.Type != "string" {
			all = append(all, at+": string")
		}
	case float64:
		if s.Type != "" && s.Type != "number" && (s.Type != "integer" || v != float64(int(v))) {
			all = append(all, at+": number")
		}
	case bool:
		if s.Type != "boolean" {
			all = append(all, at+": boolean")
		}
	default:
		all = append(all, at+": null")
	}
	return all
}

// fullReport is a report in which every member is there.
func fullReport() report {
	ms := []measure{
		{"spawn", nil, noBare, []row{{key: "p50", title: "spawn", unit: "ms", budget: atMostTimes(1.5, bareName)}}},
		{"idle", nil, nil, []row{{key: "rss", title: "memory", unit: "MB", budget: atMost(15)}}},
		{"fs", nil, nil, []row{{key: "rate", title: "reading", unit: "MiB/s"}}},
	}
	res := newResults(ms, []*target{{name: peerName}, {name: airlockName}})
	for _, who := range res.contestants {
		res.add(ms[0], who, sample{"p50": 2})
	}
	res.add(ms[1], airlockName, sample{"rss": 12.5})
	res.miss(ms[2], airlockName, "not built: no such method")
	res.finish()
	verdicts := []verdict{{Measure: "spawn", Row: "p50", Baseline: 1, Ratio: 2, WorseBy: 2, Tolerance: 1.2, First: 3, Status: statusWorse}}
	m := machine{OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "fast", Cores: 2, Go: "go1.26", Load: 0.5}
	failures := []string{"peer: fs, round 1: gone"}
	return report{reportVersion, time.Now(), m, quick.name, 2, 0.125, res.contestants, res.rows, failures, verdicts}
}

func decode(t *testing.T, r report) any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := writeJSON(path, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The report is as its schema says, and the schema describes nothing else.
func TestReportSchema(t *testing.T) {
	root := readSchema(t)
	for name, r := range map[string]report{
		"full":  fullReport(),
		"empty": {Version: reportVersion, Sizes: full.name, Rounds: 1, Contestants: []string{bareName}, Rows: []*rowResult{}},
	} {
		if got := root.violations(root, "report", decode(t, r)); len(got) > 0 {
			t.Errorf("%s: %s", name, strings.Join(got, ", "))
		}
	}
	for name, typ := range map[string]reflect.Type{
		"":        reflect.TypeFor[report](),
		"machine": reflect.TypeFor[machine](),
		"row":     reflect.TypeFor[rowResult](),
		"figures": reflect.TypeFor[figures](),
		"budget":  reflect.TypeFor[budgetResult](),
		"verdict": reflect.TypeFor[verdict](),
	} {
		described := root
		if name != "" {
			described = root.Defs[name]
		}
		var want, required []string
		for field := range typ.Fields() {
			key, optional := strings.CutSuffix(field.Tag.Get("json"), ",omitempty")
			if !field.IsExported() {
				continue
			}
			want = append(want, key)
			if !optional {
				required = append(required, key)
			}
		}
		if got := slices.Sorted(maps.Keys(described.Properties)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%q: the schema has %q, the report %q", name, got, want)
		}
		if got := slices.Clone(described.Required); !slices.Equal(got, required) {
			t.Errorf("%q: the schema requires %q, the report always has %q", name, got, required)
		}
	}
}

// The test above can fail.
func TestReportSchemaViolations(t *testing.T) {
	root := readSchema(t)
	r := fullReport()
	r.Version, r.Sizes = 2, "huge"
	r.Rows[0].Unit = "furlongs"
	v := decode(t, r).(map[string]any)
	v["extra"] = 1.0
	delete(v, "date")
	got := root.violations(root, "report", v)
	slices.Sort(got)
	want := []string{
		"report.date: missing", "report.extra: unknown", "report.rows[].unit: value",
		"report.sizes: value", "report.version: value",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnits(t *testing.T) {
	units := readSchema(t).Defs["row"].Properties["unit"].Enum
	for _, m := range measures {
		for _, r := range m.rows {
			if !slices.Contains(units, any(r.unit)) {
				t.Errorf("%s/%s: the schema does not have the unit %q", m.name, r.key, r.unit)
			}
		}
	}
}
