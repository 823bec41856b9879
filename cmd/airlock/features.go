package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// features are names of extensions of the protocol, or of what of the dialect can be
// switched off, with commas between.
type features string

// allFeatures stands for every extension.
const allFeatures = "all"

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *features) UnmarshalText(text []byte) error {
	*f = features(text)
	known := append(protocol.Features(), protocol.CapabilityEnvironmentConfigRead, protocol.CapabilityDiscoveryV2)
	for _, name := range f.names() {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no %q: expected %s, or %s, with commas between",
				name, strings.Join(known, ", "), allFeatures)
		}
	}
	return nil
}

// names returns the names, every single one.
func (f features) names() []string {
	var names []string
	for name := range strings.SplitSeq(string(f), ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case allFeatures:
			names = append(names, protocol.Features()...)
		default:
			names = append(names, name)
		}
	}
	return names
}
