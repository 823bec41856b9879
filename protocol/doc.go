// Package protocol is the wire contract between a coding agent and an
// executor: method names, parameters, results, notifications, error codes,
// capabilities and path URIs of the Codex exec-server dialect, plus Airlock's
// own additive members.
//
// # Decoding
//
// [Decode] is strict where the dialect is: names are case-sensitive, required
// members must be present, null is refused where it has no meaning, duplicate
// names and invalid UTF-8 are errors, integers must fit, base64 is the padded
// standard alphabet without stray bits. Unknown members are ignored.
//
// How a field of a struct is treated follows from its Go type and tags:
//
//   - a pointer may be missing or null;
//   - a field tagged omitzero or wire:"optional" may be missing, but not null;
//   - every other field is required and may not be null;
//   - a [jsontext.Value] is like any other field, but takes null as nil. With
//     the tag wire:"struct=NAME" it must be an object, or null if it may be
//     missing; NAME is for error texts, also where the type has another;
//   - of some structs one member tells which others there are: see [Union].
//
// # Encoding
//
// [Encode] writes members in the order of the struct, without white space.
// What it wrote decodes to an equal value, which it writes the same again.
package protocol
