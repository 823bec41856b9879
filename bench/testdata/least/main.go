// Command least is the least server that a client can have a conversation with
// over a loopback connection: the floor for what a server answers, relays and
// runs. It prints where it listens, as exec-servers do. A client sends one line
// that says what to do:
//
//	{"do": "echo"}                  send back what comes
//	{"do": "relay", "argv": [...]}  send its output in base64, each piece after its length
//	{"do": "run", "argv": [...]}    run it once for each byte that comes, all at once, and
//	                                send a byte for each that is over
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("ws://%s\n", listener.Addr())
	for {
		conn, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			defer conn.Close()
			if err := serve(conn); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

func serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var order struct {
		Do   string   `json:"do"`
		Argv []string `json:"argv"`
	}
	if err := json.Unmarshal(line, &order); err != nil {
		return err
	}
	switch order.Do {
	case "echo":
		return each(in, func(b []byte) error { _, err := conn.Write(b); return err })
	case "relay":
		return relay(conn, order.Argv)
	case "run":
		return each(in, func(b []byte) error {
			for range b {
				go func() {
					if err := run(order.Argv); err != nil {
						fmt.Fprintln(os.Stderr, err)
						conn.Close()
						return
					}
					_, _ = conn.Write([]byte{1}) // else the client is gone
				}()
			}
			return nil
		})
	default:
		return fmt.Errorf("what is %q?", order.Do)
	}
}

// each calls f with what comes, as it comes.
func each(in io.Reader, f func([]byte) error) error {
	buffer := make([]byte, 4096)
	for {
		n, err := in.Read(buffer)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(buffer[:n]); err != nil {
			return err
		}
	}
}

// run runs argv, reads its output to the end and drops it.
func run(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, errOut := io.Copy(io.Discard, stdout)
	_, errErr := io.Copy(io.Discard, stderr)
	return errors.Join(errOut, errErr, cmd.Wait())
}

func relay(conn net.Conn, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	buffer, piece := make([]byte, 64<<10), []byte(nil) // what a pipe holds
	for {
		n, err := stdout.Read(buffer)
		if n > 0 {
			piece = binary.BigEndian.AppendUint32(piece[:0], uint32(n))
			piece = base64.StdEncoding.AppendEncode(piece, buffer[:n])
			if _, err := conn.Write(piece); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return cmd.Wait()
		}
		if err != nil {
			return err
		}
	}
}
