package fetch

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// headerList is the headers of an answer as they are passed on.
type headerList []protocol.HTTPHeader

// add adds a header that can be passed on.
func (l *headerList) add(name, value string) {
	if isToken(name) && isPlain(value) {
		*l = append(*l, protocol.HTTPHeader{Name: strings.ToLower(name), Value: value})
	}
}

// answerHeaders returns the headers of an answer in the order in which they came,
// if its head is known, else sorted by name.
func answerHeaders(answer *http.Response, head []byte) headerList {
	list := headerList{}
	if head != nil {
		list.addLines(string(head))
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
		for _, value := range answer.Header[name] {
			list.add(name, value)
		}
	}
	// net/http takes these apart.
	if len(answer.TransferEncoding) > 0 {
		list.add("transfer-encoding", strings.Join(answer.TransferEncoding, ", "))
	}
	if len(answer.Trailer) > 0 {
		list.add("trailer", strings.Join(slices.Sorted(maps.Keys(answer.Trailer)), ", "))
	}
	return list
}

// addLines adds the headers of a head that net/http has taken.
func (l *headerList) addLines(head string) {
	_, head, _ = strings.Cut(head, "\n") // the status
	for head != "" {
		var line string
		line, head, _ = strings.Cut(head, "\n")
		for strings.HasPrefix(head, " ") || strings.HasPrefix(head, "\t") {
			var more string // an old way to go on with a value
			more, head, _ = strings.Cut(head, "\n")
			line = strings.TrimRight(line, " \t\r") + " " + strings.TrimLeft(more, " \t")
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			l.add(name, strings.Trim(value, " \t\r"))
		}
	}
}

// drop takes headers out.
func (l *headerList) drop(names ...string) {
	*l = slices.DeleteFunc(*l, func(h protocol.HTTPHeader) bool { return slices.Contains(names, h.Name) })
}

// isPlain tells whether the value of a header is of ASCII without controls. Others
// are left out.
func isPlain(value string) bool {
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hasBody tells whether something can follow the headers of an answer.
func hasBody(answer *http.Response, method string) bool {
	switch status := answer.StatusCode; {
	case status < http.StatusOK, status == http.StatusNoContent, status == http.StatusNotModified:
		return false
	}
	return method != http.MethodHead && method != http.MethodConnect
}
