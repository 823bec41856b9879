package transport

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestPairCarriesMessagesBothWays(t *testing.T) {
	a, b := Pair()
	defer a.Close(nil)
	const count = 5000
	var wg sync.WaitGroup
	for _, end := range []struct{ from, to Conn }{{a, b}, {b, a}} {
		wg.Go(func() {
			for i := range count / 2 {
				batch := [][]byte{fmt.Appendf(nil, "%d", 2*i), fmt.Appendf(nil, "%d", 2*i+1)}
				if err := end.from.Write(batch); err != nil {
					t.Error(err)
				}
				batch[0][0] = 'x' // the slices are the writer's again
			}
		})
		wg.Go(func() {
			for i := range count {
				got, err := end.to.Read()
				if err != nil || string(got) != fmt.Sprint(i) {
					t.Errorf("message %d: %q, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestPairWriteWaitsForReader(t *testing.T) {
	for name, message := range map[string][]byte{
		"empty": {},
		"small": []byte("x"),
		"large": bytes.Repeat([]byte("x"), 3*pairBytes),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := Pair()
				written := 0
				done := make(chan error)
				go func() {
					for {
						if err := a.Write([][]byte{message}); err != nil {
							done <- err
							return
						}
						written++
					}
				}()
				synctest.Wait()
				if most := max(1, pairBytes/(len(message)+messageCost)); written != most {
					t.Errorf("%d messages written ahead, want %d", written, most)
				}
				before := written
				if _, err := b.Read(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if written != before+1 {
					t.Errorf("a read made room for %d messages", written-before)
				}
				b.Close(nil)
				if err := <-done; err != ErrClosed {
					t.Errorf("blocked write: %v", err)
				}
			})
		})
	}
}

func TestPairClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pair()
		read := make(chan error)
		go func() { _, err := b.Read(); read <- err }()
		synctest.Wait()
		a.Close(nil)
		if err := <-read; err != ErrClosed {
			t.Errorf("blocked read: %v", err)
		}

		a, b = Pair()
		_ = a.Write([][]byte{[]byte("to b")})
		_ = b.Write([][]byte{[]byte("to a")})
		a.Close(nil)
		a.Close(nil)
		if got, err := a.Read(); err != ErrClosed {
			t.Errorf("closed side read %q, %v", got, err)
		}
		if got, err := b.Read(); string(got) != "to b" || err != nil {
			t.Errorf("other side read %q, %v", got, err)
		}
		for range 2 {
			if _, err := b.Read(); err != ErrClosed {
				t.Errorf("other side at the end: %v", err)
			}
		}
		if a.Write([][]byte{nil}) != ErrClosed || b.Write([][]byte{nil}) != ErrClosed {
			t.Error("write after close")
		}
		b.Close(nil)
		if !strings.Contains(a.Origin(), "JSON-RPC message from") {
			t.Error(a.Origin())
		}
	})
}
