package fetch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// ownVariables are those of the executor itself, which no client gets to send.
// The dialect's list.
var ownVariables = []string{
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
	"OPENAI_FEDERATION_RULE_ID",
	"OPENAI_IDENTITY_TOKEN_FILE",
	"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
	"OPENAI_API_KEY",
	"CODEX_API_KEY",
	"CODEX_ACCESS_TOKEN",
	"CODEX_CONNECTORS_TOKEN",
	"AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN",
	"AZURE_CLIENT_SECRET",
	"AZURE_FEDERATED_TOKEN_FILE",
	"GOOGLE_APPLICATION_CREDENTIALS",
}

// checkHeaders gives a request its headers.
func (f *Fetcher) checkHeaders(r *request, headers []protocol.HTTPHeaderParam) error {
	r.header = make(map[string][]string, len(headers)+4)
	bytes := 0
	for _, h := range headers {
		if !isToken(h.Name) {
			return invalid("http/request header name is invalid: invalid HTTP header name")
		}
		value, err := f.headerValue(h)
		if err != nil {
			return err
		}
		if bytes += len(h.Name) + len(value); bytes > limits.HTTPRequestHeaderBytes {
			return invalid("http/request headers are too large: they may have %d bytes", limits.HTTPRequestHeaderBytes)
		}
		if !isValue(value) {
			return invalid("http/request header value is invalid for %s: failed to parse header value", h.Name)
		}
		if err := r.addHeader(strings.ToLower(h.Name), value, h.ValueEnvVar != nil); err != nil {
			return err
		}
	}
	return nil
}

// headerValue returns the value of a header, with what it takes from the
// environment.
func (f *Fetcher) headerValue(h protocol.HTTPHeaderParam) (string, error) {
	if h.ValueEnvVar == nil {
		return h.Value, nil
	}
	name := *h.ValueEnvVar
	if slices.ContainsFunc(ownVariables, func(own string) bool { return strings.EqualFold(own, name) }) {
		return "", invalid("http/request header %s cannot use executor environment variable %s", h.Name, name)
	}
	value, set := f.lookupEnv(name)
	switch {
	case !set || name == "" || strings.ContainsAny(name, "=\x00"):
		return "", invalid("http/request header %s requires executor environment variable %s", h.Name, name)
	case value == "":
		return "", invalid("http/request header %s requires a non-empty executor environment variable %s", h.Name, name)
	}
	return h.Value + value, nil
}

// addHeader adds a header, whose name is in lower case. Those about how the
// request is sent are not sent as they stand, but have effect.
func (r *request) addHeader(name, value string, secret bool) error {
	switch name {
	case "host":
		if r.host == "" {
			r.host = value
		}
		return nil
	case "content-length":
		if value != strconv.Itoa(len(r.body)) {
			return invalid("http/request header content-length is not the length of the body, which has %d bytes; leave it out", len(r.body))
		}
		return nil
	case "transfer-encoding":
		if !strings.EqualFold(value, "chunked") {
			return invalid("http/request header transfer-encoding can only be chunked; leave it out")
		}
		r.chunked = true
		return nil
	}
	r.header[name] = append(r.header[name], value)
	if secret {
		r.secrets = append(r.secrets, name)
	}
	return nil
}
