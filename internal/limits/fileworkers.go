package limits

import "time"

// What operations on files may take that are carried out in a confinement, each by
// a worker: this program, executed again. Airlock's own.
const (
	// FileWorkers bounds the workers, one for each confinement that is in use. At
	// the bound one that is idle makes room; if all are at work one waits for
	// FileWorkerWait, and is then refused.
	FileWorkers = 16
	// FileWorkerCalls bounds the operations that one of them carries out at the
	// same time; others wait in the same way.
	FileWorkerCalls = 64
	// FileRequestBytes bounds what a worker is asked: less than a message, as data
	// to be written does not go there.
	FileRequestBytes = MessageBytes
	// FileAnswerBytes bounds what is taken from a worker: no answer can be larger.
	FileAnswerBytes = MessageBytes
	// FileWorkerComplaint bounds what is kept of what a worker says before it
	// fails.
	FileWorkerComplaint = 4 << 10
)

// Times of these workers.
const (
	// FileWorkerIdle is how long one is kept that has nothing to do: a client that
	// works on files asks again within seconds.
	FileWorkerIdle = 10 * time.Second
	// FileWorkerWait is how long an operation waits for a worker.
	FileWorkerWait = 30 * time.Second
	// FileWorkerPatience is how long a worker may go on with an operation that
	// nobody waits for any more, until it is taken to be held up for good. Then it
	// gets no other operations, and is killed when the last has ended.
	FileWorkerPatience = 5 * time.Second
)
