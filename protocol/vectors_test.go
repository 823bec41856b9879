package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// roundTrip decodes raw as a T and encodes it again.
func roundTrip[T any](t *testing.T, raw string) {
	t.Helper()
	v, err := Decode[T]([]byte(raw))
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return
	}
	got, err := Encode(v)
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return
	}
	if diff := cmp.Diff(raw, string(got)); diff != "" {
		t.Errorf("%T is not the same: %s", v, diff)
	}
}

const (
	capabilities = `{"networkProxyLaunch":true,"networkProxyReviewDomains":true,"networkProxyTransparentTcp":true,"credentialMasking":true,"credentialMaskingCustomProviders":true,"capabilityDiscoverySandbox":true,"fsWatchMissing":true,"capabilityDiscoveryV2":true,"environmentConfigRead":true,"httpHeaderEnvVars":true,"sandboxedFileStreaming":true,"fileWriteStreaming":true,"shellSnapshotV2":true,"windowsMxc":false,"linuxRootWritePreservesDevices":true,"linuxApprovedRootWritePreservesRestrictions":true}`

	environmentInfo = `{"shell":{"name":"bash","path":"/bin/bash"},"executorVersion":"0.171.0","providerId":"sha256:d9ab","cwd":"file:///usr","userHomeDir":"file:///root","platformOs":"linux","prependPathDirs":["file:///opt/x/codex-path"],"temporaryDirectories":["file:///var/tmp"],"tempDir":"file:///var/tmp","capabilities":` + capabilities + `}`
)

// TestVectors decodes and encodes messages as they were observed on the wire,
// and what else the types can hold.
func TestVectors(t *testing.T) {
	t.Parallel()
	roundTrip[InitializeParams](t, `{"clientName":"codex-core","resumeSessionId":null}`)
	roundTrip[InitializeParams](t, `{"clientName":"","resumeSessionId":"30c06a08-508c-4e02-b450-7876375b9e5b"}`)
	roundTrip[InitializeResult](t, `{"sessionId":"ba8c7fa4-508c-4e02-b450-7876375b9e5b","environmentInfo":`+environmentInfo+`}`)
	roundTrip[EnvironmentInfo](t, environmentInfo)
	roundTrip[EnvironmentInfo](t, `{"shell":{"name":"sh","path":""},"executorVersion":"0.0.0","providerId":"","cwd":null,"platformOs":"windows","prependPathDirs":[],"temporaryDirectories":[],"tempDir":"file:///C:/tmp","capabilities":`+capabilities+`,"airlock":{"version":"1","features":[]}}`)
	roundTrip[EnvironmentStatus](t, `{"status":"ready"}`)
	roundTrip[Unit](t, `{}`)

	roundTrip[StartParams](t, `{"processId":"ls","argv":["/bin/sh","-c","echo out; echo err >&2; exit 3"],"cwd":"file:///tmp","envPolicy":null,"env":{"PATH":"/usr/bin:/bin"},"tty":false,"arg0":null}`)
	roundTrip[StartParams](t, `{"processId":"","argv":[],"cwd":"file://h/a%20b","envPolicy":{"inherit":"core","ignoreDefaultExcludes":true,"exclude":["*A*"],"set":{"A":"1","B":"2"},"includeOnly":[]},"env":{},"tty":true,"pipeStdin":true,"arg0":"","metadata":{"threadId":"67e55044-10b1-426f-9247-bb680e5fe0c8","toolCallId":""},"shellSnapshot":{"scopeId":"s","shell":{"name":"bash","path":"/bin/bash"}},"sandbox":{"permissions":{"type":"disabled"},"workspaceRoots":[],"windowsSandboxLevel":"disabled"},"enforceManagedNetwork":true,"managedNetwork":{"transparentTcp":true,"loopbackPorts":[1,65535],"allowLocalBinding":true,"allowUnixSockets":["/s"],"dangerouslyAllowAllUnixSockets":true},"networkProxy":{"proxy":{"enabled":true},"policyDecisionTimeoutMs":2000}}`)
	roundTrip[StartParams](t, `{"processId":"p","argv":["a"],"cwd":"file:///","envPolicy":null,"env":{},"tty":false,"arg0":null,"metadata":{},"managedNetwork":{},"networkProxy":{"proxy":{}}}`)
	roundTrip[StartResult](t, `{"processId":"p5","sandboxType":"none"}`)
	roundTrip[StartResult](t, `{"processId":"p5"}`)
	roundTrip[ReadParams](t, `{"processId":"ls","afterSeq":99,"maxBytes":null,"waitMs":300}`)
	roundTrip[ReadResult](t, `{"chunks":[{"seq":1,"stream":"stdout","chunk":"b3V0Cg=="},{"seq":2,"stream":"stderr","chunk":"ZXJyCg=="}],"nextSeq":5,"exited":true,"exitCode":3,"closed":true,"failure":null,"sandboxDenied":false}`)
	roundTrip[ReadResult](t, `{"chunks":[],"nextSeq":1,"exited":false,"exitCode":null,"closed":false,"failure":"gone","sandboxDenied":true,"airlock":{"firstSeq":7,"droppedBytes":{"pty":3,"stderr":2,"stdout":1}}}`)
	roundTrip[WriteParams](t, `{"processId":"cat","chunk":"aGVsbG8K","writeId":"w1"}`)
	roundTrip[WriteResult](t, `{"status":"accepted"}`)
	roundTrip[WriteResult](t, `{"status":"unknownProcess"}`)
	roundTrip[WriteResult](t, `{"status":"stdinClosed"}`)
	roundTrip[WriteResult](t, `{"status":"starting"}`)
	roundTrip[SignalParams](t, `{"processId":"nope","signal":"interrupt"}`)
	roundTrip[SignalResult](t, `{}`)
	roundTrip[TerminateParams](t, `{"processId":"nope"}`)
	roundTrip[TerminateResult](t, `{"running":false}`)
	roundTrip[CloseStdinParams](t, `{"processId":"p"}`)
	roundTrip[CloseStdinResult](t, `{}`)
	roundTrip[OutputNotification](t, `{"processId":"ls","seq":1,"stream":"stdout","chunk":"b3V0Cg=="}`)
	roundTrip[OutputNotification](t, `{"processId":"ls","seq":18446744073709551615,"stream":"pty","chunk":""}`)
	roundTrip[ExitedNotification](t, `{"processId":"p5","seq":1,"exitCode":-1,"sandboxDenied":false}`)
	roundTrip[ClosedNotification](t, `{"processId":"p5","seq":2}`)

	roundTrip[Error](t, `{"code":-32602,"message":"argv must not be empty"}`)
	roundTrip[Error](t, `{"code":-32603,"message":"No such file or directory (os error 2)","data":{"kind":"spawnNotFound"}}`)
}
