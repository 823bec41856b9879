//go:build !linux

package outlog

// writeParts implements file.
func (f *tempFile) writeParts(parts [][]byte, at int64) error {
	for _, part := range parts {
		if _, err := f.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	return nil
}

// space is not asked for here.
type space struct{}
