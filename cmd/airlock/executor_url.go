package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/airlock-exec/airlock/internal/transport"
)

// checkURL refuses what is no URL of an executor. The text is shown, unless it may
// hold a secret.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err == nil && parsed.Host != "" && parsed.User == nil && (parsed.Scheme == "ws" || parsed.Scheme == "wss") {
		return nil
	}
	given := fmt.Sprintf("%q", text)
	if strings.ContainsAny(text, "@?#") {
		given = "that"
	}
	return fmt.Errorf("--url: %s is no URL of an executor: expected ws://HOST:PORT or wss://HOST:PORT, without a user", given)
}

// tokenHint adds to the refusal of a token how to give one.
func tokenHint(err error, tokenFile string) error {
	refusal, ok := errors.AsType[*transport.HandshakeError](err)
	refused := ok && refusal.Status == http.StatusUnauthorized ||
		err != nil && strings.Contains(err.Error(), ": 401 Unauthorized: ") // as the suite words it
	switch {
	case !refused:
		return err
	case tokenFile == "":
		return fmt.Errorf("%w; give the executor's token with --token-file", err)
	}
	return fmt.Errorf("%w; the token in %s (--token-file) is not the right one", err, tokenFile)
}
