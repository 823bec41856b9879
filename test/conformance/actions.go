package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// actions is everything that a step can do, by the member that asks for it. To
// add an action: a line here, a method of run, a line in README.md.
var actions = sync.OnceValue(func() map[string]action {
	on := func(more map[string]form) map[string]form {
		all := map[string]form{"on": isText}
		maps.Copy(all, more)
		return all
	}
	return map[string]action{
		// Connections.
		"open":  {argument: isText, may: map[string]form{"ready": isFlag, "session": isName, "resume": isText}, run: (*run).open},
		"drop":  {argument: isText, run: (*run).drop},
		"leave": {argument: isText, run: (*run).leave},
		"ended": {argument: isText, may: map[string]form{"expect": isPattern}, checks: one, run: (*run).ended},
		"http":  {argument: isValue, must: expects, valid: validHTTP, checks: one, run: (*run).http},
		// Requests and answers.
		"call": {
			argument: isText, checks: expectAndTook, run: (*run).call,
			may: on(map[string]form{"params": isValue, "id": isValue, "expect": isPattern, "took": isInterval, "until": isPattern}),
		},
		"begin":  {argument: isText, must: map[string]form{"as": isName}, may: on(map[string]form{"params": isValue, "id": isValue}), run: (*run).begin},
		"await":  {argument: isText, may: map[string]form{"expect": isPattern, "took": isInterval}, checks: expectAndTook, run: (*run).await},
		"order":  {argument: isNames, checks: one, run: (*run).order},
		"answer": {argument: isPattern, may: on(map[string]form{"to": isValue}), checks: one, run: (*run).answer},
		"notify": {argument: isText, may: on(map[string]form{"params": isValue}), run: (*run).notify},
		// Below requests.
		"send":  {argument: isValue, may: on(map[string]form{"binary": isFlag, "pieces": isCount}), run: (*run).send},
		"frame": {argument: isValue, may: on(nil), valid: validFrame, run: (*run).frame},
		"ping":  {argument: isText, may: on(nil), checks: one, run: (*run).ping},
		// Processes.
		"start": {
			argument: isText, checks: expectAndTook, valid: validStart, run: (*run).start,
			may: on(map[string]form{"argv": isValue, "script": isText, "with": isValue, "expect": isPattern}),
		},
		"write":        {argument: isText, must: map[string]form{"data": isValue, "id": isText}, may: on(map[string]form{"expect": isPattern}), checks: expectAndTook, run: (*run).writeStdin},
		"notification": {argument: isText, must: expects, may: on(map[string]form{"of": isText}), checks: one, run: (*run).notification},
		"output":       {argument: isText, may: on(map[string]form{"stream": isText, "expect": isPattern, "until": isPattern}), valid: validOutput, checks: expectAndTook, run: (*run).output},
		"outcome":      {argument: isText, must: expects, may: on(nil), valid: validOutcome, checks: members, run: (*run).outcome},
		// Files.
		"shell": {argument: isScript, may: on(map[string]form{"expect": isPattern}), checks: expectAndTook, run: (*run).runShell},
		// HTTP requests of the executor.
		"asked":   {argument: isTarget, may: map[string]form{"expect": isPattern}, checks: expectAndTook, run: (*run).asked},
		"unasked": {argument: isTarget, checks: one, run: (*run).unasked},
		"release": {argument: isTarget, run: (*run).release},
		"left":    {argument: isTarget, checks: one, run: (*run).left},
		"body":    {argument: isText, must: expects, may: on(nil), valid: validBody, checks: members, run: (*run).body},
		// Time, and the rest.
		"quiet":  {argument: isCount, may: on(nil), checks: one, run: (*run).quiet},
		"pause":  {argument: isCount, run: (*run).pause},
		"lapse":  {argument: isCount, run: (*run).lapse},
		"set":    {argument: isName, must: map[string]form{"value": isValue}, run: (*run).set},
		"repeat": {argument: isCount, must: map[string]form{"steps": isSteps}, run: (*run).repeat},
	}
})

// expects is for actions without an answer of their own.
var expects = map[string]form{"expect": isPattern}

// one is for steps that are a check by themselves.
func one(map[string]any) int { return 1 }

func expectAndTook(fields map[string]any) int {
	n := 0
	for _, name := range []string{"expect", "took"} {
		if _, ok := fields[name]; ok {
			n++
		}
	}
	return n
}

// members is for steps that check each member of what they expect.
func members(fields map[string]any) int {
	object, _ := fields["expect"].(map[string]any)
	return len(object)
}

// outcomes are what can be expected of the outcome of a process.
var outcomes = []string{
	"stdout", "stderr", "pty", "exitCode", "sandboxDenied", "inOrder", "numbered", "largestChunk", "events",
}

func validOutcome(fields map[string]any) error {
	object, ok := fields["expect"].(map[string]any)
	if !ok || len(object) == 0 {
		return errors.New("expect must be an object")
	}
	return knownNames("expect", object, outcomes)
}

func knownNames(what string, object map[string]any, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: unknown member %q; it may have %s", what, name, strings.Join(known, ", "))
		}
	}
	return nil
}

func validOutput(fields map[string]any) error {
	_, expect := fields["expect"]
	_, until := fields["until"]
	if expect == until {
		return errors.New("it needs either expect, which is a check, or until, which is none")
	}
	return nil
}

func validStart(fields map[string]any) error {
	_, script := fields["script"]
	_, argv := fields["argv"]
	if script == argv {
		return errors.New("it needs either script or argv")
	}
	if _, ok := fields["with"].(map[string]any); !ok && fields["with"] != nil {
		return errors.New("with must be an object of parameters")
	}
	return nil
}

func validHTTP(fields map[string]any) error {
	_, err := parseHTTP(fields["http"])
	return err
}

func validFrame(fields map[string]any) error {
	_, err := parseFrame(fields["frame"])
	return err
}

// parseHTTP reads the request of an http step.
func parseHTTP(tree any) (httpRequest, error) {
	object, ok := tree.(map[string]any)
	if !ok {
		return httpRequest{}, errors.New("http must be an object")
	}
	if err := knownNames("http", object, []string{"method", "target", "headers", "bare", "upgrade"}); err != nil {
		return httpRequest{}, err
	}
	request := httpRequest{method: "GET", target: "/"}
	if method, ok := object["method"].(string); ok {
		request.method = method
	}
	if target, ok := object["target"].(string); ok {
		request.target = target
	}
	request.bare = object["bare"] == true
	if object["upgrade"] == true {
		request.headers = append(request.headers, upgrade.headers...)
	}
	headers, _ := object["headers"].([]any)
	for _, element := range headers {
		pair, _ := element.([]any)
		if len(pair) != 2 {
			return httpRequest{}, fmt.Errorf("http: a header must be a name and a value, not %s", show(element))
		}
		name, isText := pair[0].(string)
		value, isText2 := pair[1].(string)
		if !isText || !isText2 && pair[1] != nil {
			return httpRequest{}, fmt.Errorf("http: a header must be a name and a value, not %s", show(element))
		}
		request.headers = slices.DeleteFunc(request.headers, func(h [2]string) bool { return strings.EqualFold(h[0], name) })
		if isText2 { // null takes a header of the upgrade away
			request.headers = append(request.headers, [2]string{name, value})
		}
	}
	return request, nil
}

// parseFrame reads the frame of a frame step. Its payload may be a generator, to
// be expanded later.
func parseFrame(tree any) (frame, error) {
	object, ok := tree.(map[string]any)
	if !ok {
		return frame{}, errors.New("frame must be an object")
	}
	if err := knownNames("frame", object, []string{"opcode", "fin", "rsv", "unmasked", "payload"}); err != nil {
		return frame{}, err
	}
	opcode, ok := integer(object["opcode"])
	if !ok || opcode < 0 || opcode > 15 {
		return frame{}, errors.New("frame: opcode must be a number from 0 to 15")
	}
	rsv, _ := integer(object["rsv"])
	return frame{opcode: byte(opcode), rsv: byte(rsv & 7), fin: object["fin"] != false, unmasked: object["unmasked"] == true}, nil
}
