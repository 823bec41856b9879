package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// origin is an HTTP server for scripts. It prints its URL, and serves until it is
// ended.
func origin() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%v\n", listener.Addr())
	server := &http.Server{Handler: originPages(), ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, server.Serve(listener))
	os.Exit(1)
}

func originPages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s x=%q auth=%q type=%q body=%q\n", r.Method,
			r.Header.Values("X"), r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.Header().Set("X-Page", "status")
		w.WriteHeader(code)
		fmt.Fprintln(w, "the body")
	})
	mux.Handle("/redirect", http.RedirectHandler("/echo", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler("http://x.internal/", http.StatusFound))
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		_, _ = w.Write(make([]byte, n))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/yes", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, "y\n"); err != nil {
				return
			}
		}
	})
	return mux
}
