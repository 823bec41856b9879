package protocol

import "github.com/go-json-experiment/json/jsontext"

// Bytes are binary data. On the wire they are padded standard base64, in the
// one spelling that encoding gives: no line breaks, no stray bits at the end.
type Bytes []byte

// MarshalJSONTo writes the base64 text.
func (b Bytes) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(appendQuotedBase64(enc.AvailableBuffer(), b))
}

// UnmarshalJSONFrom reads base64 text.
func (b *Bytes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := readText(dec, "a string")
	if err != nil {
		return err
	}
	data, err := decodeBase64(text)
	if err == nil {
		*b = data
	}
	return err
}

// appendQuotedBase64 appends data as a JSON string.
func appendQuotedBase64(dst, data []byte) []byte {
	return append(AppendBase64(append(dst, '"'), data), '"')
}
