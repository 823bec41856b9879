package files

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// AppendReadFile reads a file and appends a [protocol.ReadFileResult].
func (*Files) AppendReadFile(ctx context.Context, dst []byte, p *protocol.ReadFileParams) ([]byte, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return dst, err
	}
	place, err := locate(path, p.FollowSymlinks)
	if err != nil {
		return dst, err
	}
	defer place.Close()
	file, info, err := place.open(openRead)
	if err != nil {
		return dst, err
	}
	defer file.Close()
	if info.Size() > limits.WholeFileBytes {
		return dst, errTooLarge()
	}
	begin := len(dst)
	dst = slices.Grow(dst, len(`{"dataBase64":""}`)+base64.StdEncoding.EncodedLen(int(info.Size())))
	dst = append(dst, `{"dataBase64":"`...)
	// The size is what it was; some files have more in them than they say.
	dst, n, err := appendEncoded(ctx, dst, file, 0, limits.WholeFileBytes+1, info.Size())
	switch {
	case err != nil:
		return dst[:begin], err
	case n > limits.WholeFileBytes:
		return dst[:begin], errTooLarge()
	}
	return append(dst, `"}`...), nil
}

func errTooLarge() error {
	return protocol.Errorf(protocol.CodeInvalidRequest,
		"file is too large to read: limit is %d bytes", limits.WholeFileBytes)
}
