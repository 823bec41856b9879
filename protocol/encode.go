package protocol

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encode writes v as it stands on the wire: without white space, members in
// the order of the struct, map keys sorted, nil slices as [] and nil maps as
// {}. It fails for strings that are not UTF-8.
func Encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}

// AppendEncode appends what [Encode] returns. With an error, what follows dst
// has no meaning.
func AppendEncode(dst []byte, v any) ([]byte, error) {
	buffer := bytes.NewBuffer(dst)
	err := json.MarshalWrite(buffer, v, json.Deterministic(true))
	return buffer.Bytes(), err
}

// AppendNotification appends a whole notification. The parameters must be of a
// type that [Encode] takes; what is not UTF-8 in them is replaced.
func AppendNotification(dst []byte, method string, params any) []byte {
	encoded, err := json.Marshal(params, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("protocol: encoding " + method + ": " + err.Error())
	}
	dst = append(dst, `{"method":`...)
	dst = appendString(dst, method)
	dst = append(dst, `,"params":`...)
	dst = append(dst, encoded...)
	return append(dst, '}')
}

// AppendOutputNotification appends a whole process/output message, the same as
// [Encode] would write it, but in a fraction of the time.
func AppendOutputNotification(dst []byte, n *OutputNotification) []byte {
	dst = append(dst, `{"method":"`+NotificationProcessOutput+`","params":{"processId":`...)
	dst = appendString(dst, n.ProcessID)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, n.Seq, 10)
	dst = append(dst, `,"stream":`...)
	dst = appendString(dst, string(n.Stream))
	dst = append(dst, `,"chunk":`...)
	dst = appendQuotedBase64(dst, n.Chunk)
	if n.Airlock != nil {
		extra, err := Encode(n.Airlock)
		if err != nil {
			panic("protocol: encoding " + NotificationProcessOutput + ": " + err.Error())
		}
		dst = append(dst, `,"airlock":`...)
		dst = append(dst, extra...)
	}
	return append(dst, "}}"...)
}

// appendString appends s as a JSON string. What is not UTF-8 in it is replaced.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
