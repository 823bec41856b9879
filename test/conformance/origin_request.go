package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxOriginBody bounds the body of a request to an origin.
const maxOriginBody = 16 << 20

// maxOriginHead bounds the headers of a request, in lines.
const maxOriginHead = 200

// readRequest reads an HTTP request as it stands: the headers in their order and
// with their spelling, which no library tells.
func readRequest(reader *bufio.Reader) (target string, tree map[string]any, err error) {
	line, err := readLine(reader)
	if err != nil {
		return "", nil, err
	}
	words := strings.Split(line, " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" {
		return "", nil, fmt.Errorf("a request that begins %q", line)
	}
	headers := []any{}
	length, chunked := 0, false
	for {
		if line, err = readLine(reader); err != nil {
			return "", nil, err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || len(headers) == maxOriginHead {
			return "", nil, fmt.Errorf("a header %q", line)
		}
		value = strings.Trim(value, " \t")
		headers = append(headers, []any{name, value})
		switch {
		case strings.EqualFold(name, "content-length"):
			if length, err = strconv.Atoi(value); err != nil {
				return "", nil, err
			}
		case strings.EqualFold(name, "transfer-encoding"):
			chunked = true
		}
	}
	body, err := readBody(reader, length, chunked)
	return words[1], map[string]any{"method": words[0], "target": words[1], "headers": headers, "body": body}, err
}

func readLine(reader *bufio.Reader) (string, error) {
	line, err := reader.ReadSlice('\n') // not longer than the buffer
	return strings.TrimRight(string(line), "\r\n"), err
}

// errLongBody is why a request is not answered.
var errLongBody = errors.New("the body of the request is too long")

func readBody(reader *bufio.Reader, length int, chunked bool) (string, error) {
	if !chunked {
		if length < 0 || length > maxOriginBody {
			return "", errLongBody
		}
		body := make([]byte, length)
		_, err := io.ReadFull(reader, body)
		return string(body), err
	}
	var body strings.Builder
	for {
		line, err := readLine(reader)
		if err != nil {
			return "", err
		}
		size, err := strconv.ParseUint(line, 16, 31)
		if err != nil {
			return "", err
		}
		if body.Len()+int(size) > maxOriginBody {
			return "", errLongBody
		}
		if _, err := io.CopyN(&body, reader, int64(size)); err != nil {
			return "", err
		}
		if _, err := readLine(reader); err != nil || size == 0 {
			return body.String(), err
		}
	}
}
