package protocol

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestErrorKind(t *testing.T) {
	t.Parallel()
	err := WithKind(CodeInternal, KindSpawnNotFound, "No such file or directory (os error 2)")
	if err.Kind() != KindSpawnNotFound || err.Error() != "No such file or directory (os error 2)" {
		t.Errorf("got %#v", err)
	}
	const want = `{"code":-32603,"message":"No such file or directory (os error 2)","data":{"kind":"spawnNotFound"}}`
	if got, e := Encode(err); e != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, e, want)
	}
	for data, want := range map[string]ErrorKind{
		`{"kind":"new","x":1}`: "new",
		`{"kind":1}`:           "",
		`{}`:                   "",
		`[]`:                   "",
		`"x"`:                  "",
		`null`:                 "",
		``:                     "",
	} {
		if got := (&Error{Data: []byte(data)}).Kind(); got != want {
			t.Errorf("%s: got %q, want %q", data, got, want)
		}
	}
}

// TestErrorLenient reads errors of peers that are less strict than we are.
func TestErrorLenient(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"code":-32000,"message":"m"}`,
		`{"code":-32000,"message":"m","data":null}`,
		`{"code":-32000,"message":"m","data":[1]}`,
		`{"more":{},"message":"m","code":-32000,"data":"x"}`,
	} {
		if e, err := Decode[Error]([]byte(raw)); err != nil || e.Code != -32000 || e.Message != "m" {
			t.Errorf("%s: got %#v (%v)", raw, e, err)
		}
		var e Error
		if err := json.Unmarshal([]byte(raw), &e); err != nil || e.Code != -32000 || e.Message != "m" {
			t.Errorf("%s: got %#v (%v)", raw, e, err)
		}
	}
}
