package transport

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"strings"
)

// The values of AuthConfig.Mode.
const (
	// CapabilityToken: the client presents one fixed secret.
	CapabilityToken = "capability-token"
	// SignedBearerToken: the client presents a JWT signed with a shared secret.
	SignedBearerToken = "signed-bearer-token"
)

// ErrAuthOverStdio is the start error for a listener without a handshake in
// which a token could be presented.
var ErrAuthOverStdio = errors.New("WebSocket auth requires a WebSocket listener, not stdio")

const (
	defaultClockSkew = 30        // seconds
	minSecretBytes   = 32        // of a signing secret, as long as its digest
	maxSecretFile    = 64 << 10  // what may be read from a secret file
	bearerScheme     = "Bearer " // compared case-insensitively
)

// AuthConfig says what a client must present. It mirrors the --ws-… flags; an
// empty string or a nil pointer is a flag that was not given.
type AuthConfig struct {
	Mode string // CapabilityToken, SignedBearerToken or "" for no authentication

	TokenFile   string // capability: the token, trimmed
	TokenSHA256 string // capability: its digest in hex, instead of the file

	SharedSecretFile    string  // signed: the secret, trimmed
	Issuer              *string // signed: required value of iss
	Audience            *string // signed: required value of aud, or in it
	MaxClockSkewSeconds *uint64 // signed: tolerance for exp and nbf; nil is 30
}

// Authenticator decides who may open a WebSocket. A nil one lets everybody in.
type Authenticator struct {
	check func(token string) error
}

// NewAuthenticator checks the configuration and reads the secrets it names. It
// returns nil if no authentication is asked for.
func NewAuthenticator(cfg AuthConfig) (*Authenticator, error) {
	switch cfg.Mode {
	case "":
		if cfg != (AuthConfig{}) {
			return nil, errors.New("websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`")
		}
		return nil, nil
	case CapabilityToken:
		return newCapabilityAuth(cfg)
	case SignedBearerToken:
		return newSignedAuth(cfg)
	default:
		return nil, fmt.Errorf("unknown --ws-auth mode `%s`; expected `%s` or `%s`", cfg.Mode, CapabilityToken, SignedBearerToken)
	}
}

func newCapabilityAuth(cfg AuthConfig) (*Authenticator, error) {
	switch {
	case cfg.SharedSecretFile != "" || cfg.Issuer != nil || cfg.Audience != nil || cfg.MaxClockSkewSeconds != nil:
		return nil, errors.New("`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`")
	case cfg.TokenFile != "" && cfg.TokenSHA256 != "":
		return nil, errors.New("`--ws-token-file` and `--ws-token-sha256` are mutually exclusive")
	case cfg.TokenFile == "" && cfg.TokenSHA256 == "":
		return nil, errors.New("`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set")
	}

	var want [sha256.Size]byte
	if cfg.TokenFile != "" {
		token, err := readSecret(cfg.TokenFile)
		if err != nil {
			return nil, err
		}
		want = sha256.Sum256([]byte(token))
	} else {
		digest, err := hex.DecodeString(cfg.TokenSHA256)
		if err != nil || len(digest) != sha256.Size {
			return nil, errors.New("--ws-token-sha256 must be a 64-character hex SHA-256 digest")
		}
		want = [sha256.Size]byte(digest)
	}
	return &Authenticator{check: func(token string) error {
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return errors.New("invalid websocket bearer token")
		}
		return nil
	}}, nil
}

func newSignedAuth(cfg AuthConfig) (*Authenticator, error) {
	skew := uint64(defaultClockSkew)
	if cfg.MaxClockSkewSeconds != nil {
		skew = *cfg.MaxClockSkewSeconds
	}
	switch {
	case cfg.TokenFile != "" || cfg.TokenSHA256 != "":
		return nil, errors.New("`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`")
	case cfg.SharedSecretFile == "":
		return nil, errors.New("`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set")
	case skew > math.MaxInt64:
		return nil, errors.New("websocket auth clock skew must fit in a signed 64-bit integer")
	}
	secret, err := readSecret(cfg.SharedSecretFile)
	if err != nil {
		return nil, err
	}
	if len(secret) < minSecretBytes {
		return nil, fmt.Errorf("signed websocket bearer secret %s must be at least %d bytes", cfg.SharedSecretFile, minSecretBytes)
	}
	rules := jwtRules{secret: []byte(secret), issuer: cfg.Issuer, audience: cfg.Audience, skew: int64(skew)}
	return &Authenticator{check: rules.check}, nil
}

// Check returns nil if the request may open a WebSocket, and otherwise the text
// of the 401 answer. The error never holds anything of the token.
func (a *Authenticator) Check(r *http.Request) error {
	if a == nil {
		return nil
	}
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return errors.New("missing websocket bearer token")
	}
	header := headers[0]
	if len(header) < len(bearerScheme) || !strings.EqualFold(header[:len(bearerScheme)], bearerScheme) {
		return errors.New("invalid authorization header")
	}
	token := strings.TrimSpace(header[len(bearerScheme):])
	if token == "" {
		return errors.New("invalid authorization header")
	}
	return a.check(token)
}

// readSecret returns the trimmed content of a secret file. The path may be a
// pipe, so its size is bounded while reading.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", unreadableSecret(path, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", unreadableSecret(path, err)
	}
	secret := strings.TrimSpace(string(content))
	switch {
	case secret == "":
		return "", fmt.Errorf("websocket auth secret %s must not be empty", path)
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("websocket auth secret %s must not be larger than %d bytes", path, maxSecretFile)
	}
	return secret, nil
}

// unreadableSecret names the path once: the error of package os has it too.
func unreadableSecret(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("failed to read websocket auth secret %s: %w", path, err)
}
