package agent

import (
	"bufio"
	"net"
	"sync"
	"testing"
)

// trapBeyondLoopback returns variables by which a program that calls another
// machine calls us in place of it, which fails the test.
func trapBeyondLoopback(t *testing.T) []string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
			t.Errorf("the agent calls another machine: %q", line)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	proxy := "http://" + l.Addr().String()
	const here = "127.0.0.1,localhost,::1"
	return []string{
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" + proxy, "NO_PROXY=" + here,
		"http_proxy=" + proxy, "https_proxy=" + proxy, "all_proxy=" + proxy, "no_proxy=" + here,
	}
}
