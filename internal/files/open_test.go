package files

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// opener opens files, or not.
type opener struct {
	err    error
	path   string
	asked  []string
	params any
}

func (o *opener) Open(_ context.Context, method string, params any) (*os.File, error) {
	o.asked, o.params = append(o.asked, method), params
	if o.err != nil {
		return nil, o.err
	}
	return os.OpenFile(o.path, os.O_RDWR, 0)
}

// TestOpener: what is to be confined is opened by who can do that, and all else here.
func TestOpener(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := folder(t)
	here, there := put(t, dir+"/here", "here"), put(t, dir+"/there", "there")
	o := &opener{path: there}
	f := New(new(Budget), o)
	defer f.Close()
	restricted := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	read := func(s *protocol.SandboxContext) (string, error) {
		r, err := f.ReadFile(ctx, &protocol.ReadFileParams{Path: uri(t, here), Sandbox: s})
		if err != nil {
			return "", err
		}
		defer r.Close()
		b, err := r.Append(ctx, nil)
		return string(b), err
	}
	for s, want := range map[*protocol.SandboxContext]string{
		nil:                          `{"dataBase64":"aGVyZQ=="}`,
		protocol.FullAccessSandbox(): `{"dataBase64":"aGVyZQ=="}`,
		restricted:                   `{"dataBase64":"dGhlcmU="}`,
	} {
		if got, err := read(s); err != nil || got != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	if len(o.asked) != 1 {
		t.Errorf("the opener has been asked for %v", o.asked)
	}
	open := func(id string, mode protocol.OpenMode, s *protocol.SandboxContext) error {
		_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: id, Path: uri(t, here), Mode: mode, Sandbox: s})
		return err
	}
	readOnly := protocol.ReadOnlySandbox(protocol.NetworkRestricted)
	must(t, open("r", protocol.OpenRead, readOnly)) // which restricts no reading
	must(t, open("w", protocol.OpenReplace, readOnly))
	if _, err := f.WriteFile(ctx, &protocol.WriteFileParams{
		Path: uri(t, here), DataBase64: protocol.FileData{Bytes: []byte("THERE")}, Sandbox: readOnly,
	}); err != nil {
		t.Error(err)
	}
	if len(o.asked) != 3 {
		t.Errorf("the opener has been asked for %v", o.asked)
	}
	block, err := f.AppendReadBlock(ctx, nil, &protocol.ReadBlockParams{HandleID: "w", Len: 9})
	if want := `{"chunk":"VEhFUkU=","eof":true}`; err != nil || string(block) != want {
		t.Errorf("a block is %s (%v), want %s", block, err, want)
	}

	o.err = errors.New("no")
	if _, err := read(restricted); !errors.Is(err, o.err) {
		t.Errorf("the opener's error has become %v", err)
	}
	for range 2 { // a handle is not taken by who fails
		if err := open("h", protocol.OpenRead, restricted); !errors.Is(err, o.err) {
			t.Errorf("the opener's error has become %v", err)
		}
	}
	o.err = nil
	o.path = os.DevNull
	_, err = read(restricted)
	check(t, "a device", err, notRegular)
	_, err = f.GetMetadata(ctx, &protocol.GetMetadataParams{Path: uri(t, here), Sandbox: restricted})
	if err == nil {
		t.Error("something is done here that is to be confined")
	}
}
