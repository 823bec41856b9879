package protocol

import "strconv"

// AppendHTTPBodyDeltaNotification appends a whole http/request/bodyDelta message,
// the same as [Encode] would write it, but in a fraction of the time.
func AppendHTTPBodyDeltaNotification(dst []byte, n *HTTPBodyDeltaNotification) []byte {
	dst = append(dst, `{"method":"`+NotificationHTTPBodyDelta+`","params":{"requestId":`...)
	dst = appendString(dst, n.RequestID)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, n.Seq, 10)
	dst = append(dst, `,"deltaBase64":`...)
	dst = appendQuotedBase64(dst, n.DeltaBase64)
	dst = append(dst, `,"done":`...)
	dst = strconv.AppendBool(dst, n.Done)
	dst = append(dst, `,"error":`...)
	if n.Error == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, *n.Error)
	}
	return append(dst, "}}"...)
}
