package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// originAnswer is what an origin answers to a request for one target.
type originAnswer struct {
	raw   bool // the parts are all there is; otherwise a head comes before them
	parts []originPart
	close bool // the connection ends behind it
}

// originPart is text to be sent, or a gate to wait at.
type originPart struct {
	text string
	gate string
}

// answerMembers are what the answer of an origin may have in a file of cases.
var answerMembers = []string{"status", "headers", "body", "length", "chunked", "hold", "raw", "close"}

// parseOrigin reads the answers of an origin, whose variables and generators have
// been put in.
func parseOrigin(tree any) (map[string]*originAnswer, error) {
	object, ok := tree.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, errors.New("origin must be an object of answers, by the target of the request")
	}
	answers := map[string]*originAnswer{}
	for target, member := range object {
		answer, err := parseAnswer(member)
		if err != nil {
			return nil, fmt.Errorf("origin: %s: %w", target, err)
		}
		answers[target] = answer
	}
	return answers, nil
}

// sketch puts nothing in the place of what generators make: it is looked at before
// they run.
func sketch(tree any) any {
	switch v := tree.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = sketch(v[i])
		}
		return list
	case map[string]any:
		if _, _, ok := special(v); ok {
			return ""
		}
		object := make(map[string]any, len(v))
		for name := range v {
			object[name] = sketch(v[name])
		}
		return object
	default:
		return tree
	}
}

func parseAnswer(tree any) (*originAnswer, error) {
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("an answer must be an object")
	}
	if err := knownNames("answer", object, answerMembers); err != nil {
		return nil, err
	}
	answer := &originAnswer{close: object["close"] == true}
	if gate, ok := object["hold"].(string); ok {
		answer.parts = append(answer.parts, originPart{gate: gate})
	}
	if raw, ok := object["raw"]; ok {
		parts, err := parseParts(raw)
		answer.raw, answer.parts = true, append(answer.parts, parts...)
		return answer, err
	}
	parts, err := parseParts(object["body"])
	if err != nil {
		return nil, err
	}
	chunked := object["chunked"] == true
	head, err := answerHead(object, parts, chunked)
	if err != nil {
		return nil, err
	}
	answer.parts = append(answer.parts, originPart{text: head})
	if chunked {
		parts = asChunks(parts)
	}
	answer.parts = append(answer.parts, parts...)
	return answer, nil
}

// parseParts reads what is sent: a text, or a list of texts and gates.
func parseParts(tree any) ([]originPart, error) {
	list, ok := tree.([]any)
	if !ok && tree != nil {
		list = []any{tree}
	}
	var parts []originPart
	for _, element := range list {
		switch v := element.(type) {
		case string:
			parts = append(parts, originPart{text: v})
		case map[string]any:
			gate, ok := v["wait"].(string)
			if !ok || gate == "" || len(v) != 1 {
				return nil, fmt.Errorf(`a part must be a text or {"wait": GATE}, not %s`, show(element))
			}
			parts = append(parts, originPart{gate: gate})
		default:
			return nil, fmt.Errorf(`a part must be a text or {"wait": GATE}, not %s`, show(element))
		}
	}
	return parts, nil
}

// answerHead makes the head of an answer: the status, the headers in their order,
// and last how long the body is. A length of null says nothing of that.
func answerHead(object map[string]any, parts []originPart, chunked bool) (string, error) {
	status, given := integer(object["status"])
	if !given {
		status = http.StatusOK
	}
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", status, http.StatusText(int(status)))
	headers, _ := object["headers"].([]any)
	for _, element := range headers {
		pair, _ := element.([]any)
		if len(pair) != 2 {
			return "", fmt.Errorf("a header must be a name and a value, not %s", show(element))
		}
		fmt.Fprintf(&head, "%s: %s\r\n", pair[0], pair[1])
	}
	length, said := object["length"]
	switch {
	case chunked:
		head.WriteString("transfer-encoding: chunked\r\n")
	case said && length == nil:
	case said:
		fmt.Fprintf(&head, "content-length: %s\r\n", length)
	default:
		total := 0
		for _, part := range parts {
			total += len(part.text)
		}
		fmt.Fprintf(&head, "content-length: %d\r\n", total)
	}
	head.WriteString("\r\n")
	return head.String(), nil
}

// asChunks makes each text a chunk, and ends them.
func asChunks(parts []originPart) []originPart {
	var chunks []originPart
	for _, part := range parts {
		if part.gate == "" {
			part.text = fmt.Sprintf("%x\r\n%s\r\n", len(part.text), part.text)
		}
		chunks = append(chunks, part)
	}
	return append(chunks, originPart{text: "0\r\n\r\n"})
}
