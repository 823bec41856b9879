package transport

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var errInvalidJWT = errors.New("invalid websocket jwt")

// jwtRules is what a signed bearer token has to satisfy.
type jwtRules struct {
	secret           []byte
	issuer, audience *string // nil: any
	skew             int64   // seconds, not negative
}

// check verifies the signature with the library and the claims itself: the
// dialect fixes the order in which they are judged and the text for each.
func (rules jwtRules) check(token string) error {
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithoutClaimsValidation(),
		jwt.WithStrictDecoding(),
		jwt.WithJSONNumber(),
	)
	claims := jwt.MapClaims{}
	_, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) {
		return rules.secret, nil
	})
	if err != nil {
		return errInvalidJWT
	}

	expires, hasExpires, ok1 := integerClaim(claims["exp"])
	notBefore, hasNotBefore, ok2 := integerClaim(claims["nbf"])
	issuer, hasIssuer, ok3 := stringClaim(claims["iss"])
	audience, ok4 := audienceClaim(claims["aud"])
	if !ok1 || !ok2 || !ok3 || !ok4 || !hasExpires {
		return errInvalidJWT
	}

	now := time.Now().Unix()
	switch {
	case expires < now-rules.skew:
		return errors.New("expired websocket jwt")
	case hasNotBefore && notBefore > saturatingAdd(now, rules.skew):
		return errors.New("websocket jwt is not valid yet")
	case rules.issuer != nil && (!hasIssuer || issuer != *rules.issuer):
		return errors.New("websocket jwt issuer mismatch")
	case rules.audience != nil && !slices.Contains(audience, *rules.audience):
		return errors.New("websocket jwt audience mismatch")
	}
	return nil
}

// integerClaim returns a claim that must be a signed 64-bit integer; ok is false
// if it is something else, present if it is there and not null.
func integerClaim(claim any) (value int64, present, ok bool) {
	if claim == nil {
		return 0, false, true
	}
	number, ok := claim.(json.Number)
	if !ok {
		return 0, true, false
	}
	value, err := number.Int64()
	return value, true, err == nil
}

// stringClaim is integerClaim for strings.
func stringClaim(claim any) (value string, present, ok bool) {
	if claim == nil {
		return "", false, true
	}
	value, ok = claim.(string)
	return value, true, ok
}

// audienceClaim returns the audiences named by a string or an array of strings.
func audienceClaim(claim any) (audience []string, ok bool) {
	switch claim := claim.(type) {
	case nil:
		return nil, true
	case string:
		return []string{claim}, true
	case []any:
		for _, element := range claim {
			name, ok := element.(string)
			if !ok {
				return nil, false
			}
			audience = append(audience, name)
		}
		return audience, true
	default:
		return nil, false
	}
}

// saturatingAdd adds two numbers that are not negative.
func saturatingAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
