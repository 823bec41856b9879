package transport

import (
	"net/http"
	"strconv"
	"strings"
)

// serveHTTP judges a request. The order of the cases is part of the contract.
func (l *Listener) serveHTTP(w http.ResponseWriter, r *http.Request) {
	_, fromBrowser := r.Header["Origin"]
	health := r.URL.Path == "/readyz" || r.URL.Path == "/livez"
	switch {
	case fromBrowser: // any web page could reach a loopback port otherwise
		answer(w, http.StatusForbidden, "")
	case health && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		answer(w, http.StatusOK, "")
	case health:
		w.Header().Set("Allow", "GET,HEAD")
		answer(w, http.StatusMethodNotAllowed, "")
	case r.URL.Path != "/":
		answer(w, http.StatusNotFound, "")
	case r.Method != http.MethodGet:
		answer(w, http.StatusMethodNotAllowed, "Request method must be `GET`")
	case !hasToken(r.Header, "Connection", "upgrade"):
		answer(w, http.StatusBadRequest, "Connection header did not include 'upgrade'")
	case !hasToken(r.Header, "Upgrade", "websocket"):
		answer(w, http.StatusBadRequest, "`Upgrade` header did not include 'websocket'")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		answer(w, http.StatusBadRequest, "`Sec-WebSocket-Version` header did not include '13'")
	case r.Header.Get("Sec-WebSocket-Key") == "":
		answer(w, http.StatusBadRequest, "`Sec-WebSocket-Key` header missing")
	default:
		if err := l.auth.Check(r); err != nil {
			l.log.Warn("websocket connection refused", "peer", r.RemoteAddr, "reason", err)
			answer(w, http.StatusUnauthorized, err.Error())
			return
		}
		l.upgrade(w, r)
	}
}

// answer sends a whole response; an empty text is an empty body.
func answer(w http.ResponseWriter, status int, text string) {
	if text != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone, which is no news
}

// hasToken reports whether a header, a list of tokens separated by commas,
// has the token in any case.
func hasToken(header http.Header, name, token string) bool {
	for _, value := range header.Values(name) {
		for element := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(element), token) {
				return true
			}
		}
	}
	return false
}
