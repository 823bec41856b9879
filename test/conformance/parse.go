package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// step is one step of a case.
type step struct {
	place   string // such as "3", or "3.1" in a repetition
	action  string
	run     func(*run, context.Context, *step) error
	spec    string
	limit   time.Duration // zero: as the run has it
	checks  int
	differs *Difference
	fields  map[string]any // the action's argument, and the other members
	steps   []*step        // of a repetition
}

// form says what the value of a member must be.
type form int

const (
	isText     form = iota // a string, in which variables may stand
	isName                 // a name to keep something by
	isFlag                 // true or false
	isCount                // a whole number
	isValue                // anything, to be sent
	isPattern              // anything, to be compared with
	isInterval             // two whole numbers, the lower first
	isNames                // a list of names
	isSteps                // a list of steps
	isScript               // a string, to be run in the case's folder
	isTarget               // a string that is about the case's origin
)

// action is what a step can do.
type action struct {
	argument form
	must     map[string]form // members that a step of this kind has to have
	may      map[string]form // those that it can have
	// checks counts what a step checks; nil is nothing.
	checks func(fields map[string]any) int
	// valid looks at what the forms do not tell.
	valid func(fields map[string]any) error
	// run makes the step. An error ends the case; what only came otherwise than
	// expected is noted, and the case goes on.
	run func(*run, context.Context, *step) error
}

// general are members that every step may have.
var general = []string{"spec", "limit", "differs", "about"}

func parseSteps(c *Case, raws []jsontext.Value, known map[string]bool) ([]*step, error) {
	return parseStepsAt(c, "", raws, known)
}

func parseStepsAt(c *Case, prefix string, raws []jsontext.Value, known map[string]bool) ([]*step, error) {
	var steps []*step
	for i, raw := range raws {
		place := prefix + strconv.Itoa(i+1)
		tree, err := decode(raw)
		if err == nil {
			tree, err = use(tree, c.define)
		}
		fields, ok := tree.(map[string]any)
		if err == nil && !ok {
			err = errors.New("it must be an object")
		}
		var s *step
		if err == nil {
			s, err = parseStep(c, place, fields, known)
		}
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", place, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseStep(c *Case, place string, fields map[string]any, known map[string]bool) (*step, error) {
	name, act, err := findAction(fields)
	if err != nil {
		return nil, err
	}
	s := &step{place: place, action: name, run: act.run, spec: c.Spec, fields: fields}
	if name == "repeat" {
		known = maps.Clone(known)
		known["i"] = true
	}
	forms := map[string]form{name: act.argument}
	maps.Copy(forms, act.must)
	maps.Copy(forms, act.may)
	for required := range act.must {
		if _, ok := fields[required]; !ok {
			return nil, fmt.Errorf("%s needs the member %s", name, required)
		}
	}
	for _, member := range slices.Sorted(maps.Keys(fields)) {
		f, ok := forms[member]
		switch {
		case ok && f == isSteps:
			if s.steps, err = nested(c, place, fields[member], known); err != nil {
				return nil, err
			}
		case ok:
			if err := checkForm(f, fields[member], known); err != nil {
				return nil, fmt.Errorf("%s: %w", member, err)
			}
		case !slices.Contains(general, member):
			return nil, fmt.Errorf("unknown member %q of a step that does %s", member, name)
		}
	}
	if act.valid != nil {
		if err := act.valid(fields); err != nil {
			return nil, err
		}
	}
	if act.checks != nil {
		s.checks = act.checks(fields)
	}
	c.Checks += s.checks
	return s, s.general(c, known)
}

// general reads the members that every step may have.
func (s *step) general(c *Case, known map[string]bool) error {
	if spec, ok := s.fields["spec"]; ok {
		s.spec, _ = spec.(string)
		if !specForm().MatchString(s.spec) {
			return fmt.Errorf("spec must be a line of the specification, not %s", show(spec))
		}
	}
	if limit, ok := s.fields["limit"]; ok {
		ms, ok := integer(limit)
		if !ok || ms <= 0 {
			return fmt.Errorf("limit must be a number of milliseconds, not %s", show(limit))
		}
		s.limit = time.Duration(ms) * time.Millisecond
	}
	if differs, ok := s.fields["differs"]; ok {
		s.differs = &Difference{}
		if err := strictly([]byte(encode(differs)), s.differs); err != nil {
			return fmt.Errorf("differs: %w", err)
		}
		if s.checks == 0 {
			return errors.New("differs stands at a step that checks nothing")
		}
		_, expects := s.fields["expect"]
		if err := s.differs.check(known, expects); err != nil {
			return err
		}
		c.Differences = append(c.Differences, *s.differs)
	}
	return nil
}

func nested(c *Case, place string, tree any, known map[string]bool) ([]*step, error) {
	list, ok := tree.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("steps must be a list of steps")
	}
	raws := make([]jsontext.Value, len(list))
	for i, element := range list {
		raws[i] = jsontext.Value(encode(element))
	}
	return parseStepsAt(c, place+".", raws, known)
}

// findAction finds the one member that says what a step does.
func findAction(fields map[string]any) (string, action, error) {
	var found []string
	for name := range fields {
		if _, ok := actions()[name]; ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 1:
		return found[0], actions()[found[0]], nil
	case 0:
		return "", action{}, fmt.Errorf("it does nothing that is known; a step does one of %s",
			strings.Join(slices.Sorted(maps.Keys(actions())), ", "))
	default:
		return "", action{}, fmt.Errorf("it does several things at once: %s", strings.Join(found, ", "))
	}
}

// variableName is how what is captured may be called.
var variableName = lazily(`^[A-Za-z][A-Za-z0-9]*$`)

func checkForm(f form, tree any, known map[string]bool) error {
	switch f {
	case isText:
		if _, ok := tree.(string); !ok {
			return fmt.Errorf("it must be a text, not %s", show(tree))
		}
		return checkValue(tree, known)
	case isScript, isTarget:
		return checkGiven(f, tree, known)
	case isName:
		if text, ok := tree.(string); !ok || !variableName().MatchString(text) {
			return fmt.Errorf("it must be a name of letters and digits, not %s", show(tree))
		}
		known[tree.(string)] = true
	case isFlag:
		if _, ok := tree.(bool); !ok {
			return fmt.Errorf("it must be true or false, not %s", show(tree))
		}
	case isCount:
		if n, ok := integer(tree); !ok || n < 0 {
			return fmt.Errorf("it must be a whole number, not %s", show(tree))
		}
	case isValue:
		return checkValue(tree, known)
	case isPattern:
		return checkPattern(tree, known)
	case isInterval:
		return checkInterval(tree)
	case isNames:
		list, ok := tree.([]any)
		for _, element := range list {
			_, isString := element.(string)
			ok = ok && isString
		}
		if !ok || len(list) == 0 {
			return fmt.Errorf("it must be a list of names, not %s", show(tree))
		}
	case isSteps:
	}
	return nil
}

// checkGiven looks whether a case has asked for what a step is about.
func checkGiven(f form, tree any, known map[string]bool) error {
	switch {
	case f == isScript && !known["dir"]:
		return errors.New("the case has no folder")
	case f == isTarget && !known["origin"]:
		return errors.New("the case has no origin")
	}
	return checkForm(isText, tree, known)
}

func checkInterval(tree any) error {
	list, _ := tree.([]any)
	if len(list) == 2 {
		low, ok := integer(list[0])
		high, ok2 := integer(list[1])
		if ok && ok2 && low <= high {
			return nil
		}
	}
	return fmt.Errorf("it must be two whole numbers, the lower first, not %s", show(tree))
}
