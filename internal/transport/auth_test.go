package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// signingSecret is as short as a secret may be.
const signingSecret = "0123456789abcdef0123456789ABCDEF"

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newAuth(t *testing.T, cfg AuthConfig) *Authenticator {
	t.Helper()
	auth, err := NewAuthenticator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return auth
}

// check returns the text of the refusal of a request, "" if there is none.
func check(a *Authenticator, authorization ...string) string {
	r := &http.Request{Header: http.Header{}}
	for _, value := range authorization {
		r.Header.Add("Authorization", value)
	}
	if err := a.Check(r); err != nil {
		return err.Error()
	}
	return ""
}

func TestAuthStartErrors(t *testing.T) {
	good := writeFile(t, signingSecret)
	short := writeFile(t, " "+signingSecret[1:]+"\n")
	empty := writeFile(t, " \n\t")
	large := writeFile(t, strings.Repeat("x", maxSecretFile+1))
	missing := filepath.Join(t.TempDir(), "missing")
	digest := strings.Repeat("aB", 32)
	const (
		noMode    = "websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`"
		signed    = "`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`"
		notSigned = "`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`"
		badDigest = "--ws-token-sha256 must be a 64-character hex SHA-256 digest"
	)
	for _, tt := range []struct {
		name string
		cfg  AuthConfig
		want string
	}{
		{"no mode, token file", AuthConfig{TokenFile: good}, noMode},
		{"no mode, digest", AuthConfig{TokenSHA256: digest}, noMode},
		{"no mode, secret file", AuthConfig{SharedSecretFile: good}, noMode},
		{"no mode, empty issuer", AuthConfig{Issuer: new("")}, noMode},
		{"no mode, empty audience", AuthConfig{Audience: new("")}, noMode},
		{"no mode, skew 0", AuthConfig{MaxClockSkewSeconds: new(uint64(0))}, noMode},
		{"unknown mode", AuthConfig{Mode: "basic"}, "unknown --ws-auth mode `basic`; expected `capability-token` or `signed-bearer-token`"},

		{"capability, no token", AuthConfig{Mode: CapabilityToken}, "`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set"},
		{"capability, both tokens", AuthConfig{Mode: CapabilityToken, TokenFile: good, TokenSHA256: digest}, "`--ws-token-file` and `--ws-token-sha256` are mutually exclusive"},
		{"capability, secret file", AuthConfig{Mode: CapabilityToken, TokenFile: good, SharedSecretFile: good}, signed},
		{"capability, issuer", AuthConfig{Mode: CapabilityToken, TokenFile: good, Issuer: new("i")}, signed},
		{"capability, audience", AuthConfig{Mode: CapabilityToken, TokenFile: good, Audience: new("a")}, signed},
		{"capability, skew", AuthConfig{Mode: CapabilityToken, TokenFile: good, MaxClockSkewSeconds: new(uint64(1))}, signed},
		{"capability, short digest", AuthConfig{Mode: CapabilityToken, TokenSHA256: digest[1:]}, badDigest},
		{"capability, long digest", AuthConfig{Mode: CapabilityToken, TokenSHA256: digest + "00"}, badDigest},
		{"capability, no digest", AuthConfig{Mode: CapabilityToken, TokenSHA256: strings.Repeat("xy", 32)}, badDigest},
		{"capability, missing file", AuthConfig{Mode: CapabilityToken, TokenFile: missing}, "failed to read websocket auth secret " + missing + ": "},
		{"capability, directory", AuthConfig{Mode: CapabilityToken, TokenFile: filepath.Dir(good)}, "failed to read websocket auth secret " + filepath.Dir(good) + ": "},
		{"capability, empty file", AuthConfig{Mode: CapabilityToken, TokenFile: empty}, "websocket auth secret " + empty + " must not be empty"},
		{"capability, large file", AuthConfig{Mode: CapabilityToken, TokenFile: large}, "websocket auth secret " + large + " must not be larger than 65536 bytes"},

		{"signed, no secret", AuthConfig{Mode: SignedBearerToken}, "`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set"},
		{"signed, token file", AuthConfig{Mode: SignedBearerToken, SharedSecretFile: good, TokenFile: good}, notSigned},
		{"signed, digest", AuthConfig{Mode: SignedBearerToken, SharedSecretFile: good, TokenSHA256: digest}, notSigned},
		{"signed, short secret", AuthConfig{Mode: SignedBearerToken, SharedSecretFile: short}, "signed websocket bearer secret " + short + " must be at least 32 bytes"},
		{"signed, empty secret", AuthConfig{Mode: SignedBearerToken, SharedSecretFile: empty}, "websocket auth secret " + empty + " must not be empty"},
		{"signed, skew", AuthConfig{Mode: SignedBearerToken, SharedSecretFile: good, MaxClockSkewSeconds: new(uint64(math.MaxInt64 + 1))}, "websocket auth clock skew must fit in a signed 64-bit integer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			auth, err := NewAuthenticator(tt.cfg)
			if auth != nil || err == nil {
				t.Fatalf("got %v, %v", auth, err)
			}
			got := err.Error()
			if strings.HasSuffix(tt.want, ": ") { // the system's text follows
				got = got[:min(len(got), len(tt.want))]
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestNoAuth(t *testing.T) {
	auth := newAuth(t, AuthConfig{})
	if auth != nil || check(auth) != "" || check(auth, "Basic x") != "" {
		t.Error("without a mode somebody is refused")
	}
}

func TestCapabilityToken(t *testing.T) {
	digest := sha256.Sum256([]byte("s3cret"))
	hexDigest := hex.EncodeToString(digest[:])
	for name, cfg := range map[string]AuthConfig{
		"file":   {Mode: CapabilityToken, TokenFile: writeFile(t, "\n s3cret\r\n")},
		"digest": {Mode: CapabilityToken, TokenSHA256: hexDigest},
		"DIGEST": {Mode: CapabilityToken, TokenSHA256: strings.ToUpper(hexDigest)},
	} {
		t.Run(name, func(t *testing.T) {
			auth := newAuth(t, cfg)
			for _, tt := range []struct {
				want   string
				header []string
			}{
				{"", []string{"Bearer s3cret"}},
				{"", []string{"bEARER   s3cret  "}},
				{"", []string{"Bearer s3cret", "Bearer other"}},
				{"missing websocket bearer token", nil},
				{"invalid authorization header", []string{""}},
				{"invalid authorization header", []string{"Bearer"}},
				{"invalid authorization header", []string{"Bearer  "}},
				{"invalid authorization header", []string{"Bearer\ts3cret"}},
				{"invalid authorization header", []string{"Bearers3cret"}},
				{"invalid authorization header", []string{"Basic s3cret"}},
				{"invalid authorization header", []string{"s3cret"}},
				{"invalid websocket bearer token", []string{"Bearer S3cret"}},
				{"invalid websocket bearer token", []string{"Bearer s3cret x"}},
				{"invalid websocket bearer token", []string{"Bearer s3cre"}},
				{"invalid websocket bearer token", []string{"Bearer " + hexDigest}},
				{"invalid websocket bearer token", []string{"Bearer other", "Bearer s3cret"}},
			} {
				if got := check(auth, tt.header...); got != tt.want {
					t.Errorf("%q: got %q, want %q", tt.header, got, tt.want)
				}
			}
		})
	}
}

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestSignedBearerToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Unix()
		secretFile := writeFile(t, signingSecret+"\n")
		with := func(change func(*AuthConfig)) *Authenticator {
			cfg := AuthConfig{Mode: SignedBearerToken, SharedSecretFile: secretFile}
			change(&cfg)
			return newAuth(t, cfg)
		}
		plain := with(func(*AuthConfig) {})
		noSkew := with(func(cfg *AuthConfig) { cfg.MaxClockSkewSeconds = new(uint64(0)) })
		allSkew := with(func(cfg *AuthConfig) { cfg.MaxClockSkewSeconds = new(uint64(math.MaxInt64)) })
		issuer := with(func(cfg *AuthConfig) { cfg.Issuer = new("me") })
		emptyIssuer := with(func(cfg *AuthConfig) { cfg.Issuer = new("") })
		audience := with(func(cfg *AuthConfig) { cfg.Audience = new("you") })
		both := with(func(cfg *AuthConfig) { cfg.Issuer, cfg.Audience = new("me"), new("you") })

		const (
			invalid  = "invalid websocket jwt"
			expired  = "expired websocket jwt"
			early    = "websocket jwt is not valid yet"
			wrongIss = "websocket jwt issuer mismatch"
			wrongAud = "websocket jwt audience mismatch"
		)
		exp := now + 60
		for _, tt := range []struct {
			name   string
			auth   *Authenticator
			claims jwt.MapClaims
			want   string
		}{
			{"exp", plain, jwt.MapClaims{"exp": exp}, ""},
			{"exp at the skew", plain, jwt.MapClaims{"exp": now - 30}, ""},
			{"exp past the skew", plain, jwt.MapClaims{"exp": now - 31}, expired},
			{"exp now, no skew", noSkew, jwt.MapClaims{"exp": now}, ""},
			{"exp past, no skew", noSkew, jwt.MapClaims{"exp": now - 1}, expired},
			{"exp 0, any skew", allSkew, jwt.MapClaims{"exp": 0}, ""},
			{"exp least, any skew", allSkew, jwt.MapClaims{"exp": int64(math.MinInt64)}, expired},
			{"exp greatest", plain, jwt.MapClaims{"exp": int64(math.MaxInt64)}, ""},
			{"exp too great", plain, jwt.MapClaims{"exp": uint64(math.MaxInt64) + 1}, invalid},
			{"exp missing", plain, jwt.MapClaims{}, invalid},
			{"exp null", plain, jwt.MapClaims{"exp": nil}, invalid},
			{"exp fraction", plain, jwt.MapClaims{"exp": float64(exp) + 0.5}, invalid},
			{"exp string", plain, jwt.MapClaims{"exp": "9999999999"}, invalid},
			{"exp in capitals", plain, jwt.MapClaims{"EXP": exp}, invalid},

			{"nbf past", plain, jwt.MapClaims{"exp": exp, "nbf": now - 1}, ""},
			{"nbf at the skew", plain, jwt.MapClaims{"exp": exp, "nbf": now + 30}, ""},
			{"nbf past the skew", plain, jwt.MapClaims{"exp": exp, "nbf": now + 31}, early},
			{"nbf future, no skew", noSkew, jwt.MapClaims{"exp": exp, "nbf": now + 1}, early},
			{"nbf greatest, any skew", allSkew, jwt.MapClaims{"exp": exp, "nbf": int64(math.MaxInt64)}, ""},
			{"nbf null", plain, jwt.MapClaims{"exp": exp, "nbf": nil}, ""},
			{"nbf string", plain, jwt.MapClaims{"exp": exp, "nbf": "0"}, invalid},
			{"expired before early", plain, jwt.MapClaims{"exp": 1, "nbf": now + 99}, expired},
			{"iat ignored", plain, jwt.MapClaims{"exp": exp, "iat": now + 9999}, ""},

			{"iss unset", plain, jwt.MapClaims{"exp": exp, "iss": "any", "aud": "any"}, ""},
			{"iss number", plain, jwt.MapClaims{"exp": exp, "iss": 7}, invalid},
			{"iss", issuer, jwt.MapClaims{"exp": exp, "iss": "me"}, ""},
			{"iss case", issuer, jwt.MapClaims{"exp": exp, "iss": "Me"}, wrongIss},
			{"iss absent", issuer, jwt.MapClaims{"exp": exp}, wrongIss},
			{"iss empty", emptyIssuer, jwt.MapClaims{"exp": exp, "iss": ""}, ""},
			{"iss empty, absent", emptyIssuer, jwt.MapClaims{"exp": exp}, wrongIss},
			{"early before iss", issuer, jwt.MapClaims{"exp": exp, "nbf": now + 99}, early},

			{"aud", audience, jwt.MapClaims{"exp": exp, "aud": "you"}, ""},
			{"aud in array", audience, jwt.MapClaims{"exp": exp, "aud": []string{"x", "you"}}, ""},
			{"aud other", audience, jwt.MapClaims{"exp": exp, "aud": "You"}, wrongAud},
			{"aud other array", audience, jwt.MapClaims{"exp": exp, "aud": []string{"x"}}, wrongAud},
			{"aud empty array", audience, jwt.MapClaims{"exp": exp, "aud": []string{}}, wrongAud},
			{"aud absent", audience, jwt.MapClaims{"exp": exp}, wrongAud},
			{"aud number", audience, jwt.MapClaims{"exp": exp, "aud": 1}, invalid},
			{"aud mixed array", audience, jwt.MapClaims{"exp": exp, "aud": []any{"you", 1}}, invalid},
			{"iss before aud", both, jwt.MapClaims{"exp": exp, "iss": "x", "aud": "x"}, wrongIss},
			{"both", both, jwt.MapClaims{"exp": exp, "iss": "me", "aud": "you"}, ""},
		} {
			token := sign(t, jwt.SigningMethodHS256, []byte(signingSecret), tt.claims)
			if got := check(tt.auth, "Bearer "+token); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}

		// Signatures and shapes.
		claims := jwt.MapClaims{"exp": exp}
		good := sign(t, jwt.SigningMethodHS256, []byte(signingSecret), claims)
		withHeader := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
		withHeader.Header["kid"], withHeader.Header["crit"] = "k", []string{"x"}
		delete(withHeader.Header, "typ")
		headers, err := withHeader.SignedString([]byte(signingSecret))
		if err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct{ token, want string }{
			"good":            {good, ""},
			"other headers":   {headers, ""},
			"HS384":           {sign(t, jwt.SigningMethodHS384, []byte(signingSecret), claims), invalid},
			"HS512":           {sign(t, jwt.SigningMethodHS512, []byte(signingSecret), claims), invalid},
			"none":            {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims), invalid},
			"other secret":    {sign(t, jwt.SigningMethodHS256, []byte("other"), claims), invalid},
			"untrimmed":       {sign(t, jwt.SigningMethodHS256, []byte(signingSecret+"\n"), claims), invalid},
			"no signature":    {good[:strings.LastIndex(good, ".")+1], invalid},
			"two parts":       {good[:strings.LastIndex(good, ".")], invalid},
			"four parts":      {good + ".x", invalid},
			"cut":             {good[:len(good)-1], invalid},
			"not a jwt":       {"hello", invalid},
			"the secret":      {signingSecret, invalid},
			"not base64":      {"!.!.!", invalid},
			"empty parts":     {"..", invalid},
			"claims no JSON":  {strings.Replace(good, ".", ".x", 1), invalid},
			"padding refused": {good + "=", invalid},
		} {
			if got := check(plain, "Bearer "+tt.token); got != tt.want {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		}
	})
}
