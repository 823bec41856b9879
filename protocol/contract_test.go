package protocol

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// methodConstants returns the values of the constants in methods.go by what their
// names begin with.
func methodConstants(t *testing.T, prefix string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "methods.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, prefix) {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

// TestContractIsWhole asserts that the contract has every method and notification
// that there is a name for, once and as what it is, and every feature.
func TestContractIsWhole(t *testing.T) {
	t.Parallel()
	requests, notifications := methodConstants(t, "Method"), methodConstants(t, "Notification")
	if len(requests) < 16 || len(notifications) < 5 {
		t.Fatalf("methods.go has only %d requests and %d notifications: is it read right?", len(requests), len(notifications))
	}
	seen := map[string]bool{}
	for _, m := range Contract() {
		if seen[m.Method] {
			t.Errorf("%s is in the contract twice", m.Method)
		}
		seen[m.Method] = true
		names := requests
		if m.IsNotification() {
			names = notifications
		}
		if !slices.Contains(names, m.Method) {
			t.Errorf("%s has no constant in methods.go with the right beginning", m.Method)
		}
	}
	for _, name := range slices.Concat(requests, notifications) {
		if !seen[name] {
			t.Errorf("%s is not in the contract: give it a line in contract.go", name)
		}
	}
	features := methodConstants(t, "Feature")
	slices.Sort(features)
	if listed := slices.Sorted(slices.Values(Features())); !slices.Equal(listed, features) {
		t.Errorf("Features() has %v, the constants are %v", listed, features)
	}
}

// TestContractIsConsistent asserts what holds for every line of the contract.
func TestContractIsConsistent(t *testing.T) {
	t.Parallel()
	for _, m := range Contract() {
		name := m.Method
		ours := strings.HasPrefix(name, "airlock/")
		if ours != (m.Feature != "" || m.ControlSocket) {
			t.Errorf("%s: what is ours, and nothing else, has a feature or is for the control socket", name)
		}
		if m.Feature != "" && !slices.Contains(Features(), m.Feature) {
			t.Errorf("%s: there is no feature %s", name, m.Feature)
		}
		if !strings.HasSuffix(m.Summary, ".") {
			t.Errorf("%s: the summary %q is no sentence", name, m.Summary)
		}
		if m.Params.Type == nil || m.Params.Decode == nil || (m.Result.Type == nil) != (m.Result.Decode == nil) {
			t.Errorf("%s: parameters or result are not whole", name)
		}
		if m.IsNotification() != (m.Failures == nil) {
			t.Errorf("%s: a request can fail, nothing tells of a notification that does", name)
		}
		byCode := func(a, b Failure) int { return cmp.Compare(a.Code, b.Code) }
		if !slices.IsSortedFunc(m.Failures, byCode) {
			t.Errorf("%s: the failures are not in the order of their codes", name)
		}
		for i, f := range m.Failures {
			if f.When == "" || i > 0 && f.Code == m.Failures[i-1].Code {
				t.Errorf("%s: code %d says nothing, or is there twice", name, f.Code)
			}
		}
	}
}

// TestContractDecodes asserts that a payload decodes as its type.
func TestContractDecodes(t *testing.T) {
	t.Parallel()
	for _, m := range Contract() {
		if m.Method != MethodProcessTerminate {
			continue
		}
		params, err := m.Params.Decode([]byte(`{"processId":"p"}`))
		if got, ok := params.(TerminateParams); err != nil || !ok || got.ProcessID != "p" {
			t.Errorf("got %#v (%v)", params, err)
		}
		if _, err := m.Result.Decode([]byte(`{}`)); err == nil || err.Error() != "missing field `running`" {
			t.Errorf("got the error %v", err)
		}
	}
}

func TestVariants(t *testing.T) {
	t.Parallel()
	for _, m := range Contract() {
		members, _ := Members(m.Params.Type)
		for _, f := range members {
			if f.Name != "signal" {
				continue
			}
			got := Variants(f.Field.Type)
			if len(got) == 0 || !f.Required {
				t.Fatalf("%s: a signal has no variants, or is not required", m.Method)
			}
			got[0] = "changed"
			if Variants(f.Field.Type)[0] == "changed" {
				t.Error("a caller can change the variants")
			}
		}
	}
}
