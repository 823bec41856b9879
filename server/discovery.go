package server

import (
	"slices"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

func (c *connection) environmentConfigRead(_ rpc.Request, params *protocol.EnvironmentConfigReadParams) rpc.Reply {
	return look(c, c.server.discoverer.ReadConfig, params)
}

func (c *connection) discoverRoots(_ rpc.Request, params *protocol.DiscoverRootsParams) rpc.Reply {
	return look(c, c.server.discoverer.Roots, params)
}

func (c *connection) discoverCapabilities(_ rpc.Request, params *protocol.DiscoverCapabilitiesParams) rpc.Reply {
	return look(c, c.server.discoverer.Installed, params)
}

// capabilityOf returns the capability of the dialect that can be switched off, and a
// method with it; "" if there is none.
func capabilityOf(method string) string {
	switch method {
	case protocol.MethodEnvironmentConfigRead:
		return protocol.CapabilityEnvironmentConfigRead
	case protocol.MethodDiscoverCapabilities:
		return protocol.CapabilityDiscoveryV2
	}
	return ""
}

// hide takes back the capabilities that are switched off.
func hide(capabilities *protocol.Capabilities, names []string) {
	shown := func(name string) bool { return !slices.Contains(names, name) }
	capabilities.EnvironmentConfigRead = shown(protocol.CapabilityEnvironmentConfigRead)
	capabilities.CapabilityDiscoveryV2 = shown(protocol.CapabilityDiscoveryV2)
}
