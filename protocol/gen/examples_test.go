package main

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/protocol"
)

// message is a message of an example.
type message struct {
	ID     jsontext.Value  `json:"id,omitzero"`
	Method *string         `json:"method,omitzero"`
	Params jsontext.Value  `json:"params,omitzero"`
	Result jsontext.Value  `json:"result,omitzero"`
	Error  *protocol.Error `json:"error,omitzero"`
}

// example is a block of docs/protocol.md: what was sent and received on one or more
// connections.
type example struct {
	text     string
	messages []message
	broken   int // texts that are no messages
}

// examples reads the blocks.
func examples(t *testing.T) []example {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```json messages\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	if len(blocks) < 20 {
		t.Fatalf("docs/protocol.md has only %d examples: are they read right?", len(blocks))
	}
	var all []example
	for _, block := range blocks {
		e := example{text: block[1]}
		dec := jsontext.NewDecoder(strings.NewReader(e.text), jsontext.AllowDuplicateNames(true))
		for {
			raw, err := dec.ReadValue()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("an example is no JSON: %v\n%s", err, e.text)
			}
			if m, err := protocol.Decode[message](raw.Clone()); err == nil {
				e.messages = append(e.messages, m)
			} else {
				e.broken++
			}
		}
		all = append(all, e)
	}
	return all
}

// contract returns the contract by name.
func contract() map[string]protocol.Message {
	byName := map[string]protocol.Message{}
	for _, m := range protocol.Contract() {
		byName[m.Method] = m
	}
	return byName
}

// TestExamples asserts that the examples of docs/protocol.md are what they claim to
// be: they decode as what the contract has for them, have no member that it does not
// know, and fit the schema. Every method has one.
func TestExamples(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse(generated(t)["schema.json"]).(map[string]any)}
	shown := map[string]bool{}
	for _, e := range examples(t) {
		for _, problem := range judge(e, v) {
			t.Errorf("%s\nin\n%s", problem, e.text)
		}
		for _, m := range e.messages {
			if m.Method != nil {
				shown[*m.Method] = true
			}
		}
	}
	for name := range contract() {
		if !shown[name] {
			t.Errorf("docs/protocol.md has no example of %s", name)
		}
	}
}

// judge says what is wrong with an example.
func judge(e example, v *validator) (problems []string) {
	report := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	asked := map[string]message{} // requests by id, the last with an id
	unparsed := 0
	for i, m := range e.messages {
		id := m.ID.String()
		switch {
		case m.Method != nil && m.ID == nil:
			c, known := contract()[*m.Method]
			if !known || !c.IsNotification() {
				report(errors.New("there is no notification " + *m.Method))
				continue
			}
			report(fits(c.Params, m.Params, v))
		case m.Method != nil:
			asked[id] = m
			// The parameters of a request that is refused may be wrong.
			c, known := contract()[*m.Method]
			if code := refusal(e.messages[i:], id); code != protocol.CodeInvalidParams && code != protocol.CodeMethodNotFound {
				if !known || c.IsNotification() {
					report(errors.New("there is no request " + *m.Method))
					continue
				}
				report(fits(c.Params, m.Params, v))
			}
		case id == "-1":
			unparsed++
		case asked[id].Method == nil:
			report(errors.New("an answer to " + id + ", which was not asked"))
		case m.Result != nil:
			report(fits(contract()[*asked[id].Method].Result, m.Result, v))
		default:
			c, known := contract()[*asked[id].Method]
			isCode := func(f protocol.Failure) bool { return f.Code == m.Error.Code }
			if known && !slices.ContainsFunc(c.Failures, isCode) || !known && m.Error.Code != protocol.CodeMethodNotFound {
				report(errors.New("the contract of " + *asked[id].Method + " does not have the code of the error"))
			}
		}
	}
	if unparsed != e.broken {
		report(errors.New("what is no message is answered with the id -1, and nothing else is"))
	}
	return problems
}

// refusal returns the code of the error that answers an id, or 0.
func refusal(messages []message, id string) protocol.Code {
	for _, m := range messages {
		if m.Error != nil && m.ID.String() == id {
			return m.Error.Code
		}
	}
	return 0
}

// fits says what is wrong with a text that should be a payload.
func fits(p protocol.Payload, raw jsontext.Value, v *validator) error {
	value, err := p.Decode(raw)
	if err != nil {
		return err
	}
	encoded, err := protocol.Encode(value)
	if err != nil {
		return err
	}
	if len(raw) == 0 {
		raw = jsontext.Value("null")
	}
	if name := surplus(parse(raw), parse(encoded)); name != "" {
		return errors.New("a " + p.Type.Name() + " has no member " + name)
	}
	return v.check(v.resolve("#/$defs/"+p.Type.Name()), parse(raw))
}

// surplus returns the name of a member that a value has, and what was decoded of it has
// not.
func surplus(value, decoded any) string {
	switch value := value.(type) {
	case map[string]any:
		object, _ := decoded.(map[string]any)
		for name, element := range value {
			other, found := object[name]
			if !found && element != nil {
				return name
			}
			if inner := surplus(element, other); inner != "" {
				return inner
			}
		}
	case []any:
		list, _ := decoded.([]any)
		for i := range min(len(value), len(list)) {
			if inner := surplus(value[i], list[i]); inner != "" {
				return inner
			}
		}
	}
	return ""
}

// TestJudge asserts that a wrong example is found.
func TestJudge(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse(generated(t)["schema.json"]).(map[string]any)}
	for _, test := range []struct {
		texts []string
		good  bool
	}{
		{[]string{`{"id":1,"method":"environment/status"}`, `{"id":1,"result":{"status":"ready"}}`}, true},
		{[]string{`{"id":1,"method":"environment/status"}`, `{"id":2,"result":{"status":"ready"}}`}, false},
		{[]string{`{"id":1,"method":"environment/status"}`, `{"id":1,"result":{"status":"ready","more":1}}`}, false},
		{[]string{`{"id":1,"method":"environment/status"}`, `{"id":1,"result":{}}`}, false},
		{[]string{`{"id":1,"method":"environment/status"}`, `{"id":1,"error":{"code":-32010,"message":""}}`}, false},
		{[]string{`{"id":1,"method":"environment/status","params":{"a":1}}`}, false},
		{[]string{`{"id":1,"method":"environment/weather"}`}, false},
		{[]string{`{"id":1,"method":"environment/weather"}`, `{"id":1,"error":{"code":-32601,"message":""}}`}, true},
		{[]string{`{"method":"environment/status"}`}, false},
		{[]string{`{"method":"process/closed","params":{"processId":"p","seq":1}}`}, true},
		{[]string{`{"method":"process/closed","params":{"processId":"p"}}`}, false},
		{[]string{`{"id":-1,"error":{"code":-32600,"message":""}}`}, false},
	} {
		e := example{}
		for _, text := range test.texts {
			m, err := protocol.Decode[message]([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			e.messages = append(e.messages, m)
		}
		if problems := judge(e, v); (problems == nil) != test.good {
			t.Errorf("%v: want good %v, got %v", test.texts, test.good, problems)
		}
	}
}
