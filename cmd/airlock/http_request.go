package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// params returns the request that the flags describe.
func (c *httpCommand) params(stdin io.Reader) (*protocol.HTTPRequestParams, error) {
	method, url, err := c.target()
	if err != nil {
		return nil, err
	}
	params := &protocol.HTTPRequestParams{Method: method, URL: url, RedirectPolicy: protocol.RedirectFollow}
	if c.NoRedirect {
		params.RedirectPolicy = protocol.RedirectStop
	}
	if c.Timeout != 0 {
		params.TimeoutMs = new(uint64(max(time.Duration(c.Timeout).Milliseconds(), 1)))
	}
	if params.Headers, err = c.headers(); err != nil {
		return nil, err
	}
	if c.Data != nil {
		data, err := readData(*c.Data, stdin)
		if err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		params.BodyBase64 = new(protocol.Bytes(data))
	}
	return params, nil
}

// target returns the method and the URL.
func (c *httpCommand) target() (method, url string, err error) {
	switch words := c.Request; {
	case len(words) == 2:
		return words[0], words[1], nil
	case len(words) > 2:
		return "", "", errors.New("expected a URL, or a method and a URL")
	case c.Data != nil:
		return http.MethodPost, words[0], nil
	default:
		return http.MethodGet, words[0], nil
	}
}

// headers returns the headers that are sent.
func (c *httpCommand) headers() ([]protocol.HTTPHeaderParam, error) {
	var headers []protocol.HTTPHeaderParam
	for _, text := range c.Header {
		header, err := parseHeader(text)
		if err != nil {
			return nil, fmt.Errorf("--header: %w", err)
		}
		headers = append(headers, header)
	}
	for _, text := range c.EnvHeader {
		header, err := parseEnvHeader(text)
		if err != nil {
			return nil, fmt.Errorf("--env-header: %w", err)
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// parseHeader reads NAME: VALUE. What is wrong is not shown: it may be a secret.
func parseHeader(text string) (protocol.HTTPHeaderParam, error) {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return protocol.HTTPHeaderParam{}, errors.New("expected NAME: VALUE")
	}
	return protocol.HTTPHeaderParam{Name: name, Value: strings.TrimSpace(value)}, nil
}

// parseEnvHeader reads NAME: VALUE$VARIABLE, in which the variable may stand in braces.
func parseEnvHeader(text string) (protocol.HTTPHeaderParam, error) {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	value = strings.TrimSpace(value)
	dollar := strings.LastIndexByte(value, '$')
	if !ok || name == "" || dollar < 0 {
		return protocol.HTTPHeaderParam{}, errors.New("expected NAME: VALUE with a $VARIABLE of the executor at its end")
	}
	variable := value[dollar+1:]
	if inner, ok := strings.CutPrefix(variable, "{"); ok {
		variable = strings.TrimSuffix(inner, "}")
	}
	if variable == "" || strings.ContainsFunc(variable, func(r rune) bool { return !isVariableRune(r) }) {
		return protocol.HTTPHeaderParam{}, errors.New("the value must end with the variable, as in NAME: Bearer $VARIABLE")
	}
	return protocol.HTTPHeaderParam{Name: name, Value: value[:dollar], ValueEnvVar: &variable}, nil
}

func isVariableRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// readData returns the body that --data stands for.
func readData(text string, stdin io.Reader) ([]byte, error) {
	path, fromFile := strings.CutPrefix(text, "@")
	if !fromFile {
		return []byte(text), nil
	}
	if path == "-" {
		return readAtMost(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAtMost(file)
}

func readAtMost(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, requestBytes+1))
	if err == nil && len(data) > requestBytes {
		err = fmt.Errorf("the body has more than %v, which is as much as an executor takes", size(requestBytes))
	}
	return data, err
}
