package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// model serves the Responses API to one agent. Each request is handed to the
// test, which says what the model answers.
type model struct {
	t        *testing.T
	url      string
	requests chan request
	replies  chan []item
}

// request is what an agent asks of its model: what has been said so far, which
// includes what its tools have returned.
type request struct {
	Input []json.RawMessage `json:"input"`
}

// item is a piece of an answer: a call of a tool, or text.
type item struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"` // of a function_call: JSON
	Input     string `json:"input,omitempty"`     // of a custom_tool_call
	Role      string `json:"role,omitempty"`
	Content   []any  `json:"content,omitempty"`
}

// newModel serves until the end of the test.
func newModel(t *testing.T) *model {
	m := &model{t: t, requests: make(chan request), replies: make(chan []item)}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL + "/v1"
	return m
}

// ServeHTTP hands a request to the test and streams the answer.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" {
		m.t.Errorf("the agent asks its model for %s %s", r.Method, r.URL)
		http.NotFound(w, r)
		return
	}
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		m.t.Errorf("decoding a request to the model: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case m.requests <- asked:
	case <-r.Context().Done():
		return
	}
	select {
	case items := <-m.replies:
		w.Header().Set("Content-Type", "text/event-stream")
		if err := writeAnswer(w, items); err != nil {
			m.t.Errorf("answering the agent: %v", err)
		}
	case <-r.Context().Done():
	}
}

// event is one of the events that an answer is streamed as.
type event struct {
	Type     string         `json:"type"`
	Response map[string]any `json:"response,omitempty"`
	Item     *item          `json:"item,omitempty"`
}

func writeAnswer(w io.Writer, items []item) error {
	const id = "resp_1"
	events := []event{{Type: "response.created", Response: map[string]any{"id": id}}}
	for i := range items {
		events = append(events, event{Type: "response.output_item.done", Item: &items[i]})
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
	events = append(events, event{Type: "response.completed", Response: map[string]any{"id": id, "usage": usage}})
	var out bytes.Buffer
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	_, err := w.Write(out.Bytes())
	return err
}
