package sandbox

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// network says what there is of a network.
func (r *resolver) network(p *Plan) error {
	c := r.request.Context
	switch {
	case r.request.Files:
		p.Network = NetworkOff
	case r.request.EnforceManaged:
		p.Network = NetworkManaged
		return r.managed(p)
	case c != nil && c.Permissions.Type != protocol.PermissionsDisabled && c.Permissions.Network != protocol.NetworkEnabled:
		p.Network = NetworkOff
	}
	return nil
}

// managed says which ports a managed network reaches. Without a proxy that the command
// knows of there is none.
func (r *resolver) managed(p *Plan) error {
	facts := r.request.Managed
	switch {
	case r.request.Context == nil:
		return r.fault("a managed network needs a sandbox; send `sandbox`, or leave out `enforceManagedNetwork`")
	case facts == nil:
		return r.fault("managed proxy mode requires `managedNetwork`, which says where the proxy is")
	case facts.TransparentTCP:
		return r.fault("transparent TCP is not available on this executor")
	}
	endpoints, err := r.endpoints()
	if err != nil {
		return err
	}
	for _, port := range endpoints {
		if len(facts.LoopbackPorts) > 0 && !slices.Contains(facts.LoopbackPorts, port) {
			return r.fault("proxy endpoint is outside the managed sandbox context")
		}
	}
	p.Ports = append(endpoints, facts.LoopbackPorts...)
	slices.Sort(p.Ports)
	p.Ports = slices.Compact(p.Ports)
	switch {
	case len(p.Ports) > limits.SandboxPorts:
		return r.fault("managedNetwork has more than %d ports", limits.SandboxPorts)
	case p.Ports[0] == 0:
		return r.fault("managedNetwork has a port 0")
	}
	return nil
}

// proxyVariables are those that programs take a proxy from, also in lower case.
var proxyVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "WS_PROXY", "WSS_PROXY", "ALL_PROXY", "FTP_PROXY", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
	"NPM_CONFIG_HTTP_PROXY", "NPM_CONFIG_HTTPS_PROXY", "NPM_CONFIG_PROXY", "BUNDLE_HTTP_PROXY", "BUNDLE_HTTPS_PROXY",
	"PIP_PROXY", "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY",
}

// endpoints returns the ports of the proxies in the environment that are on loopback.
func (r *resolver) endpoints() ([]uint16, error) {
	var ports []uint16
	set := false
	for _, variable := range r.request.Env {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(proxyVariables, strings.ToUpper(name)) || strings.TrimSpace(value) == "" {
			continue
		}
		set = true
		if port, ok := loopbackPort(value); ok && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	switch {
	case !set:
		return nil, r.fault("managed proxy mode requires proxy environment variables")
	case len(ports) == 0:
		return nil, r.fault("managed proxy mode requires parseable loopback proxy endpoints")
	}
	return ports, nil
}

// loopbackPort returns the port of a proxy that is at 127.0.0.1, which is where the
// loopback inside has it.
func loopbackPort(text string) (uint16, bool) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return 0, false
	}
	host := strings.ToLower(u.Hostname())
	if address, err := netip.ParseAddr(host); host != "localhost" && (err != nil || address != netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
		return 0, false
	}
	if u.Port() != "" {
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		return uint16(port), err == nil && port != 0
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "https" || scheme == "wss":
		return 443, true
	case strings.HasPrefix(scheme, "socks"):
		return 1080, true
	}
	return 80, true
}

// sockets says which Unix sockets of the host may be connected to: those that the
// client has named, and those in directories that it has named for being written. In
// directories for temporary files there are those of other programs.
func (r *resolver) sockets(p *Plan) {
	if p.Network == NetworkOff {
		return
	}
	if facts := r.request.Managed; facts != nil {
		p.Sockets.All = facts.DangerouslyAllowAllUnixSockets
		for i, named := range facts.AllowUnixSockets {
			if i == limits.SandboxEntries {
				r.warn("only %d Unix sockets can be allowed: the others are left out", limits.SandboxEntries)
				break
			}
			if !strings.HasPrefix(named, "/") {
				r.warn("the Unix socket %s is left out: it has no absolute path", named)
				continue
			}
			p.Sockets.Paths = append(p.Sockets.Paths, named)
		}
	}
	if p.Network == NetworkManaged {
		return
	}
	for _, one := range r.rules.sorted() {
		if one.grade == writable && one.sockets {
			p.Sockets.Paths = append(p.Sockets.Paths, one.path)
		}
	}
}
