package fetch

import (
	"net/http"
	"slices"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
)

// redirected returns where an answer sends to, or nil if it is to be passed on.
func redirected(answer *http.Response, from *weburl.URL) *weburl.URL {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	locations := answer.Header["Location"]
	if len(locations) == 0 || !isPlain(locations[0]) {
		return nil
	}
	target, err := from.Join(locations[0])
	if err != nil {
		return nil
	}
	return target
}

// next returns the request that follows from a redirect.
func (r *request) next(status int, target *weburl.URL) *request {
	following := *r
	following.url = target
	following.header = r.header.Clone()
	if target.Origin() != r.url.Origin() {
		following.becomeForeign(r.secrets)
	}
	following.setReferer(r.url)
	switch {
	case status == http.StatusSeeOther:
		following.becomeGet()
	case status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect && r.method == http.MethodPost:
		following.becomeGet()
	}
	return &following
}

// becomeForeign drops what was for the origin before.
func (r *request) becomeForeign(secrets []string) {
	for _, name := range slices.Concat(secrets, []string{
		"authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate",
	}) {
		delete(r.header, name)
	}
	r.host, r.secrets = "", nil
}

// setReferer tells where the redirect came from: all of it to the same origin,
// else only which origin, and nothing to one that could be listened to.
func (r *request) setReferer(from *weburl.URL) {
	delete(r.header, "referer")
	switch {
	case r.url.Origin() == from.Origin():
		page := *from
		page.Fragment = ""
		r.header["referer"] = []string{page.String()}
	case from.Scheme == "http" || r.url.Scheme == "https":
		r.header["referer"] = []string{from.Origin()}
	}
}

// becomeGet drops the body, and what describes it.
func (r *request) becomeGet() {
	if r.method != http.MethodHead {
		r.method = http.MethodGet
	}
	r.body, r.chunked = nil, false
	delete(r.header, "content-type")
	delete(r.header, "content-encoding")
}
