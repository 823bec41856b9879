package protocol

import (
	"bytes"
	"crypto/rand"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/internal/longtext"
)

// placeholder stands for a long string while the rest is decoded. No peer can
// know it.
var placeholder = sync.OnceValue(func() []byte {
	data := make([]byte, 18)
	_, _ = rand.Read(data) // never fails
	return data
})

// decodeLong decodes a struct of which one [Bytes] member is long, as blocks of
// files are, in a fraction of the time. It reports false for all else, in
// particular for whatever has a fault; v has no meaning then.
func decodeLong(raw []byte, v reflect.Value, room func(size int) []byte) bool {
	if len(raw) < longtext.Least || v.Kind() != reflect.Struct {
		return false
	}
	begin, end, found := longtext.Find(raw)
	if !found {
		return false
	}
	mark := placeholder()
	short := slices.Concat(raw[:begin], AppendBase64(nil, mark), raw[end:])
	if err := json.Unmarshal(short, &target{v}); err != nil {
		return false
	}
	member := bytesEqual(v, mark)
	if member == nil {
		return false
	}
	data, err := decodeBase64Into(room, raw[begin:end])
	*member = data
	return err == nil
}

// bytesEqual returns the member of a struct that holds data, or nil.
func bytesEqual(v reflect.Value, data []byte) *Bytes {
	for _, field := range v.Fields() {
		if field.Kind() != reflect.Pointer {
			field = field.Addr()
		}
		var member *Bytes
		switch held := field.Interface().(type) {
		case *Bytes:
			member = held
		case *FileData:
			member = &held.Bytes
		}
		if member != nil && bytes.Equal(*member, data) {
			return member
		}
	}
	return nil
}
