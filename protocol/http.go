package protocol

// HTTPRequestParams asks the executor to make an HTTP request.
type HTTPRequestParams struct {
	// Method is sent as it stands.
	Method string `json:"method"`
	// URL is absolute, of the scheme http or https.
	URL string `json:"url"`
	// Headers are sent in their order.
	Headers []HTTPHeaderParam `json:"headers,omitzero"`
	// BodyBase64 is the body, if there is to be one.
	BodyBase64 *Bytes `json:"bodyBase64,omitzero"`
	// TimeoutMs bounds the whole exchange. Missing means that nothing does.
	TimeoutMs *uint64 `json:"timeoutMs,omitzero"`
	// RedirectPolicy is to follow if it is missing.
	RedirectPolicy RedirectPolicy `json:"redirectPolicy,omitzero"`
	// RequestID names the stream of the body. It may be empty.
	RequestID string `json:"requestId"`
	// StreamResponse has the body told in notifications, behind the answer.
	StreamResponse bool `json:"streamResponse,omitzero"`
}

// HTTPHeaderParam is a header to be sent.
type HTTPHeaderParam struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// ValueEnvVar, if given, names a variable of the executor's environment whose
	// value follows Value: the client need not know it.
	ValueEnvVar *string `json:"valueEnvVar,omitzero"`
}

// RedirectPolicy says what becomes of an answer that sends elsewhere.
type RedirectPolicy string

// Policies.
const (
	RedirectFollow RedirectPolicy = "follow" // ask there, up to ten times
	RedirectStop   RedirectPolicy = "stop"   // it is the answer
)

// HTTPRequestResult answers http/request.
type HTTPRequestResult struct {
	// Status is the status of the answer, whatever it is.
	Status uint16 `json:"status"`
	// Headers have names in lower case.
	Headers []HTTPHeader `json:"headers"`
	// BodyBase64 is empty if the body is streamed.
	BodyBase64 Bytes `json:"bodyBase64"`
}

// HTTPHeader is a header of an answer.
type HTTPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HTTPBodyDeltaNotification tells a part of a body that is streamed.
type HTTPBodyDeltaNotification struct {
	RequestID string `json:"requestId"`
	// Seq counts the parts, from 1.
	Seq uint64 `json:"seq"`
	// DeltaBase64 is at most 1 MiB.
	DeltaBase64 Bytes `json:"deltaBase64"`
	// Done marks the last one, which has no data.
	Done bool `json:"done"`
	// Error, on the last one, says why there will be no more of the body.
	Error *string `json:"error"`
}
