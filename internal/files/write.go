package files

import (
	"context"
	"errors"
	"os"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// WriteFile writes a whole file. One that fails may have been written in part.
func (f *Files) WriteFile(ctx context.Context, p *protocol.WriteFileParams) (*protocol.WriteFileResult, error) {
	if p.DataBase64.Fault != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"fs/writeFile requires valid base64 dataBase64: %v", p.DataBase64.Fault)
	}
	file, err := openFor(ctx, f, protocol.MethodWriteFile, p, p.Sandbox, sandbox.Write, OpenToWrite)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteAt(p.DataBase64.Bytes, 0)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return &protocol.WriteFileResult{}, nil
}

// OpenToWrite opens a file that is to be written whole, from empty.
func OpenToWrite(p *protocol.WriteFileParams) (*os.File, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Write)
	if err != nil {
		return nil, err
	}
	place, err := locate(path, p.FollowSymlinks)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	file, err := place.create()
	if errors.Is(err, errPipe) && place.follow {
		return nil, errNotFile(path)
	}
	return file, err
}

// create opens a regular file to be written, from empty. Only what is one loses
// what is in it.
func (p *place) create() (*os.File, error) {
	file, err := p.open(openWrite)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
