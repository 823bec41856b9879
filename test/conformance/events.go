package conformance

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// chunkPattern returns the shape of a chunk in the result of a read.
var chunkPattern = sync.OnceValue(func() map[string]any {
	return map[string]any{
		"seq":    map[string]any{"$between": []any{number("1"), number("9007199254740991")}},
		"stream": map[string]any{"$match": "stdout|stderr|pty"},
		"chunk":  map[string]any{"$base64": map[string]any{"$match": ".+"}},
	}
})

// output compares the chunks of a read, joined for each stream, with an object
// of streams. The chunks must be well formed, and their numbers rise.
func (m *matching) output(path string, argument, tree any) {
	list, ok := tree.([]any)
	if !ok {
		m.differ(path, "an array of chunks", show(tree))
		return
	}
	joined := map[string]any{}
	last := int64(0)
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		before := len(m.mismatches)
		m.value(at, chunkPattern(), element)
		if len(m.mismatches) > before {
			return
		}
		chunk := element.(map[string]any)
		seq, _ := integer(chunk["seq"])
		if seq <= last {
			m.differ(at+".seq", fmt.Sprintf("more than %d", last), show(chunk["seq"]))
		}
		last = seq
		raw, _ := base64.StdEncoding.DecodeString(chunk["chunk"].(string))
		stream := chunk["stream"].(string)
		text, _ := joined[stream].(string)
		joined[stream] = text + string(raw)
	}
	m.object(path+" joined", argument.(map[string]any), joined, false)
}

// event is a notification, most of them about a process.
type event struct {
	method string
	seq    int64
	stream string
	data   string // output, decoded
	params map[string]any
}

// eventPatterns returns the exact parameters of each notification.
var eventPatterns = sync.OnceValue(func() map[string]map[string]any {
	chunk := chunkPattern()
	id := map[string]any{"$type": "string"}
	return map[string]map[string]any{
		"process/output": {"processId": id, "seq": chunk["seq"], "stream": chunk["stream"], "chunk": chunk["chunk"]},
		"process/exited": {
			"processId": id, "seq": chunk["seq"],
			"exitCode":      map[string]any{"$between": []any{number("-2147483648"), number("2147483647")}},
			"sandboxDenied": map[string]any{"$type": "boolean"},
		},
		"process/closed": {"processId": id, "seq": chunk["seq"]},
		bodyDelta: {
			"requestId": id, "seq": chunk["seq"], "done": map[string]any{"$type": "boolean"},
			"deltaBase64": map[string]any{"$base64": map[string]any{"$size": map[string]any{"$between": []any{number("0"), number("1048576")}}}},
			"error":       map[string]any{"$oneOf": []any{nil, id}},
		},
		"fs/missingChanged": {"watchId": map[string]any{"$between": []any{number("0"), number("9223372036854775807")}}},
	}
})

// parseEvent reads a notification, and says what is wrong with it.
func parseEvent(method string, params any) (event, error) {
	pattern, known := eventPatterns()[method]
	if !known {
		return event{}, fmt.Errorf("a notification %s, which there is not", method)
	}
	if wrong := match(pattern, params, variables{}); len(wrong) > 0 {
		return event{}, fmt.Errorf("a malformed %s: %v", method, wrong[0])
	}
	e := event{method: method, params: params.(map[string]any)}
	e.seq, _ = integer(e.params["seq"])
	e.stream, _ = e.params["stream"].(string)
	if chunk, ok := e.params["chunk"].(string); ok {
		raw, _ := base64.StdEncoding.DecodeString(chunk)
		e.data = string(raw)
	}
	return e, nil
}

// joined returns the output of a list of events, per stream, in the order of
// their numbers.
func joined(events []event) map[string]any {
	sorted := slices.SortedFunc(slices.Values(events), func(a, b event) int { return int(a.seq - b.seq) })
	streams := map[string]any{}
	for _, e := range sorted {
		if e.method == "process/output" {
			text, _ := streams[e.stream].(string)
			streams[e.stream] = text + e.data
		}
	}
	return streams
}

// whole reports whether all events of a closed process are there: the numbers
// from 1 on, of which closed has the last.
func whole(events []event) bool {
	last := int64(0)
	seen := map[int64]bool{}
	for _, e := range events {
		seen[e.seq] = true
		if e.method == "process/closed" {
			last = e.seq
		}
	}
	return last > 0 && int64(len(seen)) >= last
}

// outcome says what became of a process, as a tree that a pattern can be held
// against: its output per stream, its exit, and how its events came.
func outcome(events []event) map[string]any {
	tree := map[string]any{}
	maps.Copy(tree, joined(events))
	inOrder, numbers, exits, largest, order := true, map[int64]int{}, 0, 0, ""
	var last event
	for i, e := range events {
		inOrder = inOrder && e.seq == int64(i)+1
		numbers[e.seq]++
		largest = max(largest, len(e.data))
		if e.method == "process/exited" {
			exits++
			tree["exitCode"], tree["sandboxDenied"] = e.params["exitCode"], e.params["sandboxDenied"]
		}
	}
	sorted := slices.SortedFunc(slices.Values(events), func(a, b event) int { return int(a.seq - b.seq) })
	for _, e := range sorted {
		last = e
		if short := e.method[len("process/"):]; order == "" || short != "output" || order[len(order)-1] != 't' {
			order += " " + short
		}
	}
	tree["inOrder"] = inOrder
	tree["numbered"] = exits == 1 && last.method == "process/closed" &&
		len(numbers) == len(events) && last.seq == int64(len(events))
	tree["largestChunk"] = number(fmt.Sprint(largest))
	tree["events"] = order[min(1, len(order)):]
	return tree
}
