package arch

import (
	"slices"
	"strings"
	"testing"
)

// layer is a package and its place, with the packages below its folder that have
// no place of their own.
type layer struct {
	path string
	job  string
	// only, if not nil, are the sole layers below that it may import.
	only []string
	// never are layers below that it must not import all the same, each with
	// the reason.
	never map[string]string
}

// layers is the map of the program, as in docs/architecture.md. Data enters at
// the top: a package may import what stands below it and nothing above.
// Packages that are planned but not there yet have their place already.
var layers = []layer{
	{
		path: "cmd/airlock",
		job:  "the command line: flags and printing",
		never: map[string]string{
			"internal/rpc":     "a subcommand uses client or server; how messages travel is theirs to know",
			"internal/session": "a subcommand uses server, which owns the sessions",
			"internal/process": "a subcommand uses client or server, which own the processes",
			"internal/launch":  "a subcommand uses server, which puts the executor together",
			"internal/spawn":   "a subcommand uses server, which puts the executor together",
		},
	},
	{
		path: "cmd/airlock-helper",
		job:  "the helper as a program of its own",
		only: []string{"internal/helper"}, // whatever it imports is executed at every start
	},
	{
		path: "test/conformance",
		job:  "judges any exec-server by its answers",
		only: []string{}, // a fault of ours must not hide in code that both ends share
	},
	{path: "internal/transfer", job: "moves files between here and an executor's host"},
	{
		path: "client",
		job:  "the public Go client",
		never: map[string]string{
			"server":           "a program that only talks to an executor must not link one; a *server.Server comes in as a client.Connector",
			"internal/session": "what an executor does inside is not the client's to know",
			"internal/process": "what an executor does inside is not the client's to know",
			"internal/launch":  "what an executor does inside is not the client's to know",
			"internal/spawn":   "a client starts nothing on its own machine",
		},
	},
	{path: "server", job: "puts an executor together from the parts and serves it"},
	{
		path: "internal/doctor",
		job:  "what this host offers, and how to mend what is missing",
		only: []string{"internal/sandbox", "internal/spawn", "internal/helper", "internal/spawn/tree", "internal/limits", "protocol"},
	},
	{
		path: "internal/control",
		job:  "the control socket: where it is, who may connect, how messages travel",
		only: []string{"internal/transport", "protocol", "internal/limits"},
	},
	{
		path: "internal/rpc",
		job:  "one JSON-RPC connection",
		only: []string{"internal/transport", "protocol", "internal/telemetry", "internal/spare", "internal/longtext", "internal/limits"}, // it does not know what a method means
	},
	{
		path: "internal/transport",
		job:  "moves whole messages between two peers",
		only: []string{"internal/telemetry", "internal/spare", "internal/limits"}, // it does not look into messages
	},
	{
		path: "internal/session",
		job:  "who is attached to which process table",
		never: map[string]string{
			"internal/launch": "a session owns processes; how they are made is the table's launcher's business",
			"internal/spawn":  "a session owns processes; how they are made is the table's launcher's business",
		},
	},
	{
		path: "internal/process",
		job:  "the process table: states, numbers, output log, standard input",
		never: map[string]string{
			"internal/launch": "a table gets a Launcher; its tests run on children that are not there",
		},
	},
	{
		path: "internal/outlog",
		job:  "the output of a process: memory, file, numbers, gaps",
		only: []string{"internal/spawn", "internal/limits"},
	},
	{path: "internal/launch", job: "from the parameters of a start to a child"},
	{path: "internal/network", job: "the policy proxy"},
	{path: "internal/credential", job: "masks credentials in the child, translates them at the proxy"},
	{path: "internal/discover", job: "environment/* and capabilities/*"},
	{path: "internal/fetch", job: "http/request"},
	{path: "internal/files", job: "fs/*"},
	{path: "internal/sandbox", job: "the policy model and its backends"},
	{path: "internal/snapshot", job: "captures a shell's state"},
	{
		path: "internal/spawn",
		job:  "operating-system processes",
		only: []string{"internal/helper", "internal/spawn/point", "internal/spawn/tree", "internal/telemetry", "internal/limits"}, // it knows nothing of the protocol
	},
	{
		path: "internal/helper",
		job:  "what the helper does, and how it is executed",
		only: []string{"internal/spawn/point", "internal/spawn/tree"}, // the helper links it all
	},
	{
		path: "internal/spawn/point",
		job:  "mount points on the host, for sandboxes",
		only: []string{"internal/spawn/tree", "internal/limits"}, // the helper links it
	},
	{
		path: "internal/spawn/tree",
		job:  "a process with all its descendants",
		only: []string{"internal/limits"}, // the helper links it
	},
	{path: "internal/environ", job: "the child's environment, and the account that it belongs to"},
	{
		path: "protocol",
		job:  "the wire contract: plain types, strict decoding",
		only: []string{"internal/longtext"}, // others build on it without taking us along
	},
	{path: "internal/telemetry", job: "traces and metrics", only: []string{}},
	{path: "internal/longtext", job: "the long string in a JSON text", only: []string{}},
	{path: "internal/turns", job: "lets a few do something at the same time", only: []string{}},
	{path: "internal/spare", job: "large buffers between two uses", only: []string{"internal/limits"}},
	{path: "internal/limits", job: "every bound, with its reason", only: []string{}},
}

// aside are packages that nobody imports.
var aside = []layer{
	{
		path: "bench",
		job:  "measures exec-servers side by side",
		only: []string{}, // every server meets the same client, which is none of ours
	},
	{path: "test", job: "tests of the whole; they may use anything"},
}

// layerOf returns the place of the layer that a folder belongs to, or -1.
func layerOf(list []layer, dir string) int {
	place, longest := -1, 0
	for i, l := range list {
		if len(l.path) > longest && (dir == l.path || strings.HasPrefix(dir, l.path+"/")) {
			place, longest = i, len(l.path)
		}
	}
	return place
}

// TestImportOrder asserts that packages import only what stands below them.
// Tests are exempt: a test may build whatever it needs around its package.
func TestImportOrder(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		from := layerOf(layers, f.dir)
		if from < 0 && layerOf(aside, f.dir) < 0 {
			t.Errorf("%s: package %s has no place in the map: give it one in layers "+
				"(test/arch/imports_test.go), directly above the highest package that it imports, "+
				"and a line in docs/architecture.md", f.name, f.dir)
			continue
		}
		for _, imported := range f.imports() {
			target, ours := strings.CutPrefix(imported, modulePath+"/")
			if !ours {
				if imported == modulePath {
					t.Errorf("%s: imports the module's root, which is no package", f.name)
				}
				continue
			}
			if problem := judge(f.dir, target); problem != "" {
				t.Errorf("%s: package %s must not import %s: %s", f.name, f.dir, target, problem)
			}
		}
	}
}

// judge says what is wrong with an import, or nothing.
func judge(dir, target string) string {
	to := layerOf(layers, target)
	if to < 0 && layerOf(aside, target) >= 0 {
		return "nobody imports " + target + ", it stands aside"
	}
	if to < 0 {
		return "it has no place in the map (layers in test/arch/imports_test.go)"
	}
	name := layers[to].path
	from := layerOf(layers, dir)
	if from == to {
		return "" // folders of one layer are its own business
	}
	var rules layer
	if from >= 0 {
		rules = layers[from]
	} else {
		rules = aside[layerOf(aside, dir)]
	}
	switch {
	case from > to:
		return name + " stands above it. Move what both need further down, or have the " +
			"upper package hand in a function or a small interface"
	case rules.never[name] != "":
		return rules.never[name]
	case rules.only != nil && !slices.Contains(rules.only, name):
		if len(rules.only) == 0 {
			return "it imports nothing of this module"
		}
		return "of this module it imports only " + strings.Join(rules.only, ", ")
	}
	return ""
}

// TestRulesBite asserts that the rules refuse what they are there to refuse.
func TestRulesBite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dir, target string
		allowed     bool
	}{
		{"cmd/airlock", "server", true},
		{"server", "internal/discover", true},
		{"internal/process", "internal/spawn", true},
		{"internal/session", "internal/process", true},
		{"internal/network/proxy", "internal/network/policy", true},
		{"test/script", "server", true},
		{"internal/spawn/warden", "internal/helper/ledger", true},
		{"internal/helper", "internal/spawn/tree", true}, // a place of its own, further down

		{"cmd/airlock", "test/conformance", true}, // below, not aside like its neighbours

		{"cmd/airlock", "test/arch", false},             // aside
		{"test/conformance", "protocol", false},         // only
		{"internal/process", "internal/session", false}, // upwards
		{"server", "client", false},
		{"client", "server", false},                            // never
		{"internal/transport", "protocol", false},              // only
		{"internal/spawn", "protocol", false},                  // only
		{"internal/helper", "internal/spawn", false},           // upwards
		{"cmd/airlock-helper", "internal/spawn/warden", false}, // only
		{"protocol", "internal/limits", false},                 // only
		{"bench", "client", false},                             // aside
		{"server", "bench", false},                             // aside
		{"server", "internal/unheard-of", false},               // no place
		{"server", "internal/spawnsomething", false},           // no prefix of a name
	} {
		if problem := judge(test.dir, test.target); (problem == "") != test.allowed {
			t.Errorf("package %s imports %s: allowed should be %v; problem: %q",
				test.dir, test.target, test.allowed, problem)
		}
	}
}

// spawnTypes is what package process may use of package spawn: what a child
// reports, never what starts one. So its tests need no children.
var spawnTypes = []string{
	"Events", "Stream", "Stdout", "Stderr", "Terminal", "Size", "Signal",
	"Usage", "Mechanisms", "Exceeded", "ExceededMemory", "ExceededCPU", "ExceededFile", "SetupFailure",
}

// TestProcessUsesOnlyTypesOfSpawn asserts that the process table can't start
// anything by itself.
func TestProcessUsesOnlyTypesOfSpawn(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test || f.dir != "internal/process" {
			continue
		}
		for _, name := range uses(f.ast, modulePath+"/internal/spawn") {
			if !slices.Contains(spawnTypes, name) {
				t.Errorf("%s: uses spawn.%s; package process may use only %s of it: "+
					"what it needs of a child belongs into process.Child",
					f.name, name, strings.Join(spawnTypes, ", "))
			}
		}
	}
}

// TestMapIsConsistent asserts that the rules speak of layers that are there,
// and below.
func TestMapIsConsistent(t *testing.T) {
	t.Parallel()
	for i, l := range slices.Concat(layers, aside) {
		if l.job == "" {
			t.Errorf("layer %s: its job is missing", l.path)
		}
		named := slices.Clone(l.only)
		for name, reason := range l.never {
			named = append(named, name)
			if reason == "" {
				t.Errorf("layer %s: it must not import %s, but why?", l.path, name)
			}
		}
		for _, name := range named {
			if at := layerOf(layers, name); at < 0 || layers[at].path != name || i < len(layers) && at <= i {
				t.Errorf("layer %s: its rules name %s, which is no layer below it", l.path, name)
			}
		}
	}
}
