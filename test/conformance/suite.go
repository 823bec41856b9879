// Package conformance tests whether an exec-server, at any URL, keeps to its
// protocol. What is tested stands in JSON files, the cases, each with the line
// of the specification that it stands on; the package runs them and reports.
//
// It speaks the wire itself, from the handshake of the WebSocket on, and knows
// nothing of the servers it tests; README.md has the language of the cases.
//
// A [Suite] does not change once it has been loaded; any number of runs may use
// it at the same time.
package conformance

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed cases/*.json
var embedded embed.FS

// Suite is a set of cases.
type Suite struct {
	// Cases are in the order of their files' names, and as they stand in them.
	Cases []*Case
}

// Case is one scenario, with connections and processes of its own.
type Case struct {
	// Name is the file's name without .json, a slash, and the name in the file.
	Name string
	// Spec is the line that the case stands on, such as "01 §4.2", unless a step
	// has a line of its own.
	Spec string
	// Checks is how many expectations the case has.
	Checks int
	// Differences are those of its checks in which the Codex exec-server is known
	// to differ, on purpose.
	Differences []Difference

	setup   string
	needs   []string
	folder  string // the script that prepares the case's folder; "": it has none
	origin  any    // the answers of its origin, for HTTP; nil: it has none
	slow    bool
	differs *Difference // the whole case is not for the peer
	steps   []*step
	define  map[string]any // what $use stands for
}

// Difference is a check that the Codex exec-server does not pass, on purpose of
// ours. docs/compatibility.md has a line for each, with its ID.
type Difference struct {
	ID   string `json:"id"`
	Peer string `json:"peer"` // what the peer does, or why
	// Expect is what the peer is known to do instead; without it the check is
	// not made there.
	Expect jsontext.Value `json:"expect,omitempty"`
	expect any
}

// caseFile is a file of cases.
type caseFile struct {
	About string `json:"about"`
	// Define has trees that {"$use": NAME} stands for, in this file.
	Define map[string]jsontext.Value `json:"define,omitempty"`
	Cases  []jsontext.Value          `json:"cases"`
}

// caseText is a case in its file.
type caseText struct {
	Name    string           `json:"name"`
	Spec    string           `json:"spec"`
	About   string           `json:"about,omitempty"`
	Setup   string           `json:"setup,omitempty"`
	Needs   []string         `json:"needs,omitempty"`
	Folder  string           `json:"folder,omitempty"`
	Origin  jsontext.Value   `json:"origin,omitempty"`
	Slow    bool             `json:"slow,omitempty"`
	Differs *Difference      `json:"differs,omitempty"`
	Steps   []jsontext.Value `json:"steps"`
}

// What a case may ask for.
var (
	setups = []string{"session", "connection", "none"}
	needs  = []string{"linux", "token", "sandbox"}
)

var (
	nameForm = lazily(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	specForm = lazily(`^0[1-9] (§[0-9]+(\.[0-9]+)?|appendix [A-Z])( .+)?$`)
)

// Load returns the cases that come with this package.
func Load() (*Suite, error) { return LoadFS(embedded) }

// LoadFS reads the cases of the folder cases. Whatever is not understood is an
// error that names the file, the case and the step.
func LoadFS(files fs.FS) (*Suite, error) {
	names, err := fs.Glob(files, "cases/*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there are no cases: cases/*.json is empty")
	}
	suite := &Suite{}
	taken := map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		cases, err := parseFile(strings.TrimSuffix(path.Base(name), ".json"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range cases {
			if taken[c.Name] {
				return nil, fmt.Errorf("%s: case %s is there twice", name, c.Name)
			}
			taken[c.Name] = true
		}
		suite.Cases = append(suite.Cases, cases...)
	}
	return suite, nil
}

// strictly decodes JSON into a struct and refuses members that it has not.
func strictly(text []byte, into any) error {
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if fault, ok := errors.AsType[*json.SemanticError](err); ok {
		// Without the names of our types, which say nothing to who writes cases.
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("unknown member %q", fault.JSONPointer.LastToken())
		case fault.JSONPointer != "":
			return fmt.Errorf("%s: it can't be a JSON %v", fault.JSONPointer, fault.JSONKind)
		}
	}
	return err
}

func parseFile(prefix string, text []byte) ([]*Case, error) {
	var file caseFile
	if err := strictly(text, &file); err != nil {
		return nil, err
	}
	if file.About == "" || len(file.Cases) == 0 {
		return nil, errors.New("about must say what the file is about, and cases must not be empty")
	}
	define := map[string]any{}
	for name, raw := range file.Define {
		tree, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("define %s: %w", name, err)
		}
		define[name] = tree
	}
	var cases []*Case
	for i, raw := range file.Cases {
		c, err := parseCase(prefix, define, raw)
		if err != nil {
			return nil, fmt.Errorf("case %d%s: %w", i+1, nameOf(raw), err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// nameOf finds the name of a case that is faulty otherwise.
func nameOf(raw []byte) string {
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &named) != nil || named.Name == "" {
		return ""
	}
	return " (" + named.Name + ")"
}

func parseCase(prefix string, define map[string]any, raw []byte) (*Case, error) {
	var text caseText
	if err := strictly(raw, &text); err != nil {
		return nil, err
	}
	switch {
	case !nameForm().MatchString(text.Name):
		return nil, errors.New("name must be small letters, digits and single hyphens")
	case !specForm().MatchString(text.Spec):
		return nil, fmt.Errorf("spec must be a line of the specification such as \"01 §4.2\", not %q", text.Spec)
	case text.Setup != "" && !slices.Contains(setups, text.Setup):
		return nil, fmt.Errorf("setup must be one of %s, not %q", strings.Join(setups, ", "), text.Setup)
	case len(text.Steps) == 0:
		return nil, errors.New("there are no steps")
	}
	for _, need := range text.Needs {
		if !slices.Contains(needs, need) {
			return nil, fmt.Errorf("needs may have %s, not %q", strings.Join(needs, ", "), need)
		}
	}
	c := &Case{
		Name: prefix + "/" + text.Name, Spec: text.Spec, setup: text.Setup, needs: text.Needs,
		folder: text.Folder, slow: text.Slow, differs: text.Differs, define: define,
	}
	if c.setup == "" {
		c.setup = "session"
	}
	if c.differs != nil {
		if err := c.differs.check(nil, false); err != nil {
			return nil, err
		}
		c.Differences = append(c.Differences, *c.differs)
	}
	known, err := c.prepared(text.Origin)
	if err != nil {
		return nil, err
	}
	if c.steps, err = parseSteps(c, text.Steps, known); err != nil {
		return nil, err
	}
	if c.Checks == 0 {
		return nil, errors.New("the case checks nothing: no step expects anything")
	}
	return c, nil
}

// prepared reads what is there before the first step, and returns the variables
// that it sets.
func (c *Case) prepared(origin jsontext.Value) (known map[string]bool, err error) {
	known = map[string]bool{}
	if c.setup == "session" {
		known["session"] = true
	}
	if (c.folder != "" || origin != nil) && c.setup != "session" {
		return nil, errors.New("a folder and an origin are only for the setup session")
	}
	if c.folder != "" {
		known["dir"], known["path"] = true, true
	}
	if origin == nil {
		return known, nil
	}
	for _, name := range []string{"origin", "host", "other", "otherHost"} {
		known[name] = true
	}
	tree, err := decode(origin)
	if err == nil {
		c.origin, err = use(tree, c.define)
	}
	if err == nil {
		err = checkValue(c.origin, known)
	}
	if err == nil {
		_, err = parseOrigin(sketch(c.origin))
	}
	return known, err
}

// check completes a difference.
func (d *Difference) check(known map[string]bool, mayExpect bool) error {
	if !nameForm().MatchString(d.ID) || d.Peer == "" {
		return errors.New("differs needs an id of small letters, digits and hyphens, and in peer what the peer does")
	}
	if d.Expect == nil {
		return nil
	}
	if !mayExpect {
		return fmt.Errorf("differs %s: expect can't stand here", d.ID)
	}
	tree, err := decode(d.Expect)
	if err != nil {
		return err
	}
	d.expect = tree
	return checkPattern(tree, known)
}
