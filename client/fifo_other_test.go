//go:build !unix

package client_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
