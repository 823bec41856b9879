package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// TestBurstOfMetadata: any number of requests for files is answered, each with its
// own answer and in order, to a client that reads while it sends.
func TestBurstOfMetadata(t *testing.T) {
	w := dialWire(t, serve(t).url)
	dir := t.TempDir()
	const files = 10
	for size := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(size)), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const count, batch, first = 100_000, 1000, 1_000_000
	sent := make(chan error, 1)
	go func() {
		messages := make([][]byte, batch)
		for from := 0; from < count; from += batch {
			for i := range messages {
				path := fileURI(filepath.Join(dir, fmt.Sprint((from+i)%files)))
				messages[i] = fmt.Appendf(nil, `{"id":%d,"method":"fs/getMetadata","params":{"path":%q}}`, first+from+i, path)
			}
			if err := w.conn.Write(messages); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range count {
		text, err := w.conn.Read()
		if err != nil {
			t.Fatalf("after %d answers: %v", i, err)
		}
		var answer struct {
			ID     int                   `json:"id"`
			Result protocol.FileMetadata `json:"result"`
		}
		if err := json.Unmarshal(text, &answer); err != nil || answer.ID != first+i || answer.Result.Size != uint64(i%files) {
			t.Fatalf("answer %d is %s (%v)", i, text, err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestLargeAnswer: a file whose answer is larger than a frame may be comes whole.
func TestLargeAnswer(t *testing.T) {
	w := dialWire(t, serve(t).url)
	path := filepath.Join(t.TempDir(), "large")
	data := bytes.Repeat([]byte("0123456789abcde"), 2*limits.FrameBytes/15)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	id := w.send("fs/readFile", fmt.Sprintf(`{"path":%q}`, fileURI(path)))
	text, err := w.conn.Read()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		ID     int `json:"id"`
		Result struct {
			Data []byte `json:"dataBase64"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.ID != id || !bytes.Equal(answer.Result.Data, data) {
		t.Errorf("answer %d has %d bytes, error %v; want %d with %d", answer.ID, len(answer.Result.Data), err, id, len(data))
	}
}

func fileURI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
