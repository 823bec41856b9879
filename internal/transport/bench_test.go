package transport

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkWriteOutput writes messages as large as those with one chunk of
// output to a client that reads them.
func BenchmarkWriteOutput(b *testing.B) {
	l, conns := serve(b, Config{})
	client, conn := connect(b, l, conns)
	message := bytes.Repeat([]byte("x"), 87<<10)
	batch := [][]byte{message}
	go drain(client.Conn)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(batch); err != nil {
			b.Fatal(err)
		}
	}
}

// drain reads all there is, in large pieces so that the reader is not measured.
func drain(r io.Reader) {
	buf := make([]byte, 256<<10)
	for {
		if _, err := r.Read(buf); err != nil {
			return
		}
	}
}

// BenchmarkWriteSmall writes batches of 100 small messages.
func BenchmarkWriteSmall(b *testing.B) {
	l, conns := serve(b, Config{})
	client, conn := connect(b, l, conns)
	counter := countWrites(conn)
	batch := make([][]byte, 100)
	for i := range batch {
		batch[i] = []byte(`{"method":"process/exited","params":{"processId":"p","seq":7,"exitCode":0}}`)
	}
	go drain(client.Conn)
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(counter.writes.Load())/float64(b.N), "writes/op")
}

// BenchmarkRead reads messages of 87 KiB.
func BenchmarkRead(b *testing.B) {
	l, conns := serve(b, Config{})
	client, conn := connect(b, l, conns)
	message := frame(fin|opText, bytes.Repeat([]byte("x"), 87<<10))
	go func() {
		for {
			if _, err := client.Write(message); err != nil {
				return
			}
		}
	}()
	b.SetBytes(87 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundTrip sends a small message there and back.
func BenchmarkRoundTrip(b *testing.B) {
	over := map[string]func() (Conn, Conn){
		"websocket": func() (Conn, Conn) {
			l, conns := serve(b, Config{})
			client, err := Dial(b.Context(), l.URL(), DialOptions{})
			if err != nil {
				b.Fatal(err)
			}
			return client, <-conns
		},
		"pair": Pair,
	}
	for name, open := range over {
		b.Run(name, func(b *testing.B) {
			here, there := open()
			defer here.Close(nil)
			go func() {
				for {
					message, err := there.Read()
					if err != nil || there.Write([][]byte{message}) != nil {
						return
					}
				}
			}()
			batch := [][]byte{[]byte(`{"id":1,"method":"environment/status"}`)}
			b.ReportAllocs()
			for b.Loop() {
				if err := here.Write(batch); err != nil {
					b.Fatal(err)
				}
				if _, err := here.Read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadBlock reads messages as large as those that write a block of a
// file.
func BenchmarkReadBlock(b *testing.B) {
	l, conns := serve(b, Config{})
	client, conn := connect(b, l, conns)
	const size = 1400 << 10
	message := frame(fin|opText, bytes.Repeat([]byte("x"), size))
	go func() {
		for {
			if _, err := client.Write(message); err != nil {
				return
			}
		}
	}()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
