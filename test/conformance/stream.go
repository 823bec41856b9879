package conformance

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// bodyDelta is the notification that tells a part of the body of an HTTP answer.
const bodyDelta = "http/request/bodyDelta"

// streamed are what can be expected of a body that is streamed.
var streamed = []string{"text", "error", "deltas", "largest"}

func validBody(fields map[string]any) error {
	object, ok := fields["expect"].(map[string]any)
	if !ok || len(object) == 0 {
		return fmt.Errorf("expect must be an object")
	}
	return knownNames("expect", object, streamed)
}

// body waits until a stream has ended, and compares all that has been told of it.
func (r *run) body(ctx context.Context, s *step) error {
	connection, err := r.connection(s)
	if err != nil {
		return err
	}
	id, err := r.text(s, "body")
	if err != nil {
		return err
	}
	var deltas []map[string]any
	err = connection.wait(ctx, "the end of the stream "+id, func() bool {
		deltas = connection.streamLocked(id)
		return deltas != nil
	})
	if err != nil {
		return err
	}
	tree, fault := joinDeltas(deltas)
	if fault != "" {
		r.fail(s, Failure{Expected: "the numbers 1, 2, 3 … and data in all parts but the last", Came: fault})
		return nil
	}
	given := map[string]any{"error": nil} // also when nothing is said of it
	maps.Copy(given, s.fields["expect"].(map[string]any))
	r.verify(s, map[string]any{"$open": given}, tree)
	return nil
}

// streamLocked takes the parts of a stream that has ended, or returns nil. The
// same id may name several, one after the other.
func (c *conn) streamLocked(id string) []map[string]any {
	var deltas []map[string]any
	for _, m := range c.notes {
		params, _ := m.tree["params"].(map[string]any)
		if m.tree["method"] != bodyDelta || params["requestId"] != id {
			continue
		}
		deltas = append(deltas, params)
		if params["done"] != true {
			continue
		}
		if !m.joined {
			m.joined, m.claimed, c.taken = true, true, m.at
			return deltas
		}
		deltas = nil
	}
	return nil
}

// joinDeltas says what a stream had, as a tree that a pattern can be held against,
// or what is wrong with it.
func joinDeltas(deltas []map[string]any) (tree map[string]any, fault string) {
	var text strings.Builder
	largest := 0
	for i, delta := range deltas {
		raw, _ := base64.StdEncoding.DecodeString(delta["deltaBase64"].(string))
		last := i == len(deltas)-1
		if delta["seq"] != number(strconv.Itoa(i+1)) || last != (len(raw) == 0) || !last && delta["error"] != nil {
			return nil, show(delta)
		}
		largest = max(largest, len(raw))
		text.Write(raw)
	}
	return map[string]any{
		"text": text.String(), "error": deltas[len(deltas)-1]["error"],
		"deltas": number(strconv.Itoa(len(deltas) - 1)), "largest": number(strconv.Itoa(largest)),
	}, ""
}
