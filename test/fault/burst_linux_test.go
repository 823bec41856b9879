package fault

import (
	"bytes"
	"encoding/base64"
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

// TestVolumeBlocksTakeLittleMemory: a file of any size is written and read by blocks in
// the memory of a few of them, also if the client sends some ahead.
func TestVolumeBlocksTakeLittleMemory(t *testing.T) {
	const blocks, window, most = 512 / share, 4, 16 << 10 // KiB
	path := filepath.Join(t.TempDir(), "f")
	chunk := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0123456789abcdef"), limits.FileBlockBytes/16))
	for mode, request := range map[string]string{
		"replace": `{"id":%d,"method":"fs/writeBlock","params":{"handleId":"h","offset":%d,"chunk":"` + chunk + `"}}`,
		"read":    `{"id":%d,"method":"fs/readBlock","params":{"handleId":"h","offset":%d,"len":1048576}}`,
	} {
		if err := os.WriteFile(path, make([]byte, limits.FileBlockBytes), 0o600); err != nil {
			t.Fatal(err)
		}
		d := serve(t)
		w := dialWire(t, d.url)
		w.call("fs/open", fmt.Sprintf(`{"handleId":"h","path":%q,"mode":%q}`, fileURI(path), mode))
		before := d.status(t, "VmRSS")
		places, sent := make(chan struct{}, window), make(chan error, 1)
		go func() {
			for i := range blocks {
				places <- struct{}{}
				if err := w.conn.Write([][]byte{fmt.Appendf(nil, request, i, 0)}); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range blocks {
			text, err := w.conn.Read()
			if err != nil || !bytes.HasPrefix(text, fmt.Appendf(nil, `{"id":%d,"result":`, i)) {
				t.Fatalf("answer %d is %.100s (%v)", i, text, err)
			}
			<-places
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		grown := d.status(t, "VmHWM") - before
		t.Logf("%s: the daemon has grown by %d KiB from %d", mode, grown, before)
		if grown > most {
			t.Errorf("%s: the daemon has grown by %d KiB, at most %d are allowed", mode, grown, most)
		}
	}
}
