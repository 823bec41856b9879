//go:build embedhelper && linux

package helper

import _ "embed" // for the directive below

// embedded is the helper's binary, which `make build` puts there first.
//
//go:embed embedded/airlock-helper
var embedded string
