package protocol

import (
	"cmp"
	"reflect"
	"slices"
)

//go:generate go run ./gen

// Message describes one kind of request or notification: see [Contract].
type Message struct {
	Method string
	// Summary is a sentence on what the message does.
	Summary string
	Sender  Side
	// Params is never zero; [Unit] stands for parameters that carry nothing.
	Params Payload
	// Result is zero for a notification.
	Result Payload
	// Phase is how far the handshake must have come. On the control socket it need
	// not have begun, for what asks about any session.
	Phase Phase
	// Feature names the addition that the message belongs to, if it is not part of
	// the dialect: an executor without it does not know the message.
	Feature string
	// ControlSocket says that the message is for a connection to the control socket
	// of an executor, which others do not know it on.
	ControlSocket bool
	// Failures are the errors that answer a request, in the order of their codes.
	Failures []Failure
}

// IsNotification tells whether nothing answers the message.
func (m *Message) IsNotification() bool { return m.Result.Type == nil }

// Side is one of the two ends of a connection.
type Side string

// Sides.
const (
	Client   Side = "client"
	Executor Side = "executor"
)

// Phase is a part of a connection's life.
type Phase string

// Phases, in their order.
const (
	PhaseConnected Phase = "connected" // initialize may come
	PhaseAttached  Phase = "attached"  // initialize has succeeded, initialized may come
	PhaseReady     Phase = "ready"     // the handshake is done
)

// Payload is the type of parameters or of a result.
type Payload struct {
	Type reflect.Type
	// Decode is [Decode] for that type.
	Decode func(raw []byte) (any, error)
}

func payload[T any]() Payload {
	return Payload{
		Type:   reflect.TypeFor[T](),
		Decode: func(raw []byte) (any, error) { return Decode[T](raw) },
	}
}

// Failure is an error code, and when it answers a request.
type Failure struct {
	Code Code
	When string
}

// Contract returns every request and notification that an executor understands
// or sends: first those of the dialect, then what Airlock adds, then what is for
// the control socket.
func Contract() []Message {
	return slices.Concat(dialect(), discovery(), files(), additions(), filesExtra(), operations())
}

func dialect() []Message {
	return []Message{
		requestIn[InitializeParams, InitializeResult](PhaseConnected, MethodInitialize,
			"Opens a session, or resumes one.",
			Failure{CodeInternal, "there are too many sessions"},
			Failure{CodeInvalidRequest, "the session is not known, or initialize has succeeded on this connection"},
			Failure{CodeSessionAttached, "another connection is attached to the session"}),
		notification[Unit](Client, PhaseAttached, NotificationInitialized,
			"Ends the handshake: other requests may follow."),
		request[Unit, EnvironmentInfo](MethodEnvironmentInfo,
			"Describes the executor and its host."),
		request[Unit, EnvironmentStatus](MethodEnvironmentStatus,
			"Answers that the executor is ready."),
		request[StartParams, StartResult](MethodProcessStart,
			"Starts a process. The answer comes when its program has been executed.",
			Failure{CodeInternal, "the program could not be executed; data.kind is one of ErrorKind"},
			Failure{CodeInvalidParams, "argv is empty, cwd is of another system, or what is asked for can't be (data.kind may tell)"},
			Failure{CodeInvalidRequest, "the id is taken, there are too many processes, or the start was cancelled"}),
		request[ReadParams, ReadResult](MethodProcessRead,
			"Reads what a process has said, or waits for more.",
			Failure{CodeInternal, "retained output could not be read"},
			Failure{CodeInvalidRequest, "the process is not known, or is starting"}),
		request[WriteParams, WriteResult](MethodProcessWrite,
			"Feeds the standard input of a process.",
			Failure{CodeInternal, "standard input has been given up, as the process was terminated"},
			Failure{CodeInvalidParams, "writeId is empty or too long"}),
		request[SignalParams, SignalResult](MethodProcessSignal,
			"Interrupts a process, as Ctrl-C does. It is no error if there is none.",
			Failure{CodeInternal, "the operating system refuses"}),
		request[TerminateParams, TerminateResult](MethodProcessTerminate,
			"Kills a process, or cancels its start. It is no error if there is none."),
		notification[OutputNotification](Executor, PhaseAttached, NotificationProcessOutput,
			"Tells of output."),
		notification[ExitedNotification](Executor, PhaseAttached, NotificationProcessExited,
			"Tells that the program has ended. Output of what it has left behind may follow."),
		notification[ClosedNotification](Executor, PhaseAttached, NotificationProcessClosed,
			"Tells that nothing more will come of a process."),
	}
}

func additions() []Message {
	unknown := Failure{CodeInvalidRequest, "the process is not known, or is starting"}
	return []Message{
		feature(FeatureProcessWindow, notification[ProcessWindowNotification](Client, PhaseReady, NotificationProcessWindow,
			"Lets more output of a process be sent.")),
		feature(FeatureCloseStdin, request[CloseStdinParams, CloseStdinResult](MethodProcessCloseStdin,
			"Ends the standard input of a process, behind the writes that came before.",
			Failure{CodeInvalidParams, "the process has a terminal, which has no end to close"}, unknown)),
		feature(FeatureResize, request[ResizeParams, ResizeResult](MethodProcessResize,
			"Changes the size of a process's terminal.",
			Failure{CodeInternal, "the operating system refuses"},
			Failure{CodeInvalidParams, "a size of 0, or the process has no terminal"}, unknown)),
		feature(FeatureSignal, request[SendSignalParams, SendSignalResult](MethodProcessSendSignal,
			"Sends a signal to a process.",
			Failure{CodeInternal, "the operating system refuses"},
			Failure{CodeInvalidParams, "the signal is not known, or not there on the executor's system"}, unknown)),
		feature(FeatureTerminate, request[TerminateTreeParams, TerminateTreeResult](MethodProcessTerminateTree,
			"Ends a process with all that it has started, and tells what has died.",
			Failure{CodeInvalidParams, "graceMs is too long"},
			Failure{CodeInvalidRequest, "the process is not known"})),
		feature(FeatureList, request[ListParams, ListResult](MethodProcessList,
			"Lists the processes of the session.",
			Failure{CodeInvalidParams, "sessionId is given, and this is not the control socket"},
			Failure{CodeInvalidRequest, "the session is not known"})),
	}
}

func operations() []Message {
	unknown := Failure{CodeInvalidRequest, "the session or the process is not known, or the process is starting"}
	return []Message{
		control(requestIn[Unit, SessionListResult](PhaseConnected, MethodSessionList,
			"Lists the sessions of the executor.")),
		control(requestIn[ObserveParams, ReadResult](PhaseConnected, MethodObserve,
			"Reads what a process of any session has said, without any effect on its client.",
			Failure{CodeInternal, "retained output could not be read"}, unknown)),
		control(requestIn[SessionTerminateParams, SessionTerminateResult](PhaseConnected, MethodSessionTerminate,
			"Ends a session, or one process of it, and tells what has died.",
			Failure{CodeInvalidParams, "graceMs is too long"},
			Failure{CodeInvalidRequest, "the session or the process is not known"})),
	}
}

// request describes a request of a client that has done the handshake.
func request[P, R any](method, summary string, failures ...Failure) Message {
	m := requestIn[P, R](PhaseReady, method, summary, failures...)
	m.add(CodeInvalidRequest, "the handshake is not done")
	return m
}

// requestIn is like request, in any phase.
func requestIn[P, R any](phase Phase, method, summary string, failures ...Failure) Message {
	m := Message{
		Method: method, Summary: summary, Sender: Client, Phase: phase,
		Params: payload[P](), Result: payload[R](), Failures: failures,
	}
	m.add(CodeInvalidParams, "the parameters do not decode")
	return m
}

func notification[P any](sender Side, phase Phase, method, summary string) Message {
	return Message{Method: method, Summary: summary, Sender: sender, Phase: phase, Params: payload[P]()}
}

func feature(name string, m Message) Message {
	m.Feature = name
	if !m.IsNotification() {
		m.add(CodeMethodNotFound, "the feature is switched off")
	}
	return m
}

func control(m Message) Message {
	m.ControlSocket = true
	m.add(CodeMethodNotFound, "this is not the control socket")
	return m
}

// add adds a failure, and keeps one for each code, in the order of the codes.
func (m *Message) add(code Code, when string) {
	i := slices.IndexFunc(m.Failures, func(f Failure) bool { return f.Code == code })
	if i >= 0 {
		m.Failures[i].When = when + ", or " + m.Failures[i].When
		return
	}
	m.Failures = append(m.Failures, Failure{code, when})
	slices.SortFunc(m.Failures, func(a, b Failure) int { return cmp.Compare(a.Code, b.Code) })
}
