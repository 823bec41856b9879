package fetch

import (
	"crypto/tls"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
)

// settings are what the executor's environment says about connections.
type settings struct {
	tls   *tls.Config
	proxy func(*url.URL) (*url.URL, error) // nil: none for that URL
}

// prepare returns the settings, which are read when they are first needed. What is
// wrong with them is told until it has been mended.
func (f *Fetcher) prepare() (*settings, error) {
	if s := f.settings.Load(); s != nil {
		return s, nil
	}
	roots, err := f.roots()
	if err != nil {
		return nil, err
	}
	s := &settings{
		tls:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		proxy: f.proxies().ProxyFunc(),
	}
	f.settings.CompareAndSwap(nil, s)
	return f.settings.Load(), nil
}

// proxies returns which proxies there are.
func (f *Fetcher) proxies() *httpproxy.Config {
	all := f.first("ALL_PROXY", "all_proxy")
	plain := f.first("HTTP_PROXY", "http_proxy")
	if _, cgi := f.lookupEnv("REQUEST_METHOD"); cgi {
		// Then HTTP_PROXY is the header Proxy of who asked for this program.
		plain = f.first("http_proxy")
	}
	if plain == "" {
		plain = all
	}
	secure := f.first("HTTPS_PROXY", "https_proxy")
	if secure == "" {
		secure = all
	}
	return &httpproxy.Config{HTTPProxy: plain, HTTPSProxy: secure, NoProxy: f.first("NO_PROXY", "no_proxy")}
}

// first returns the first of several variables that is set and not empty.
func (f *Fetcher) first(names ...string) string {
	for _, name := range names {
		if value, _ := f.lookupEnv(name); value != "" {
			return value
		}
	}
	return ""
}

// proxyFor returns the proxy for a URL, or nil. What is on this machine is reached
// without.
func (s *settings) proxyFor(target *weburl.URL) *url.URL {
	name := strings.TrimSuffix(target.Host.Name, ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || target.Host.Addr.Unmap().IsLoopback() {
		return nil
	}
	proxy, err := s.proxy(&url.URL{Scheme: target.Scheme, Host: target.Authority()})
	if err != nil {
		return nil
	}
	return proxy
}
