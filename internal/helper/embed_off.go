//go:build !embedhelper && linux

package helper

// embedded is empty: this program is its own helper, or has none.
const embedded = ""
