// Package outlog keeps what one process has written: the newest in memory, what
// leaves memory in a temporary file without a name, which is used as a ring.
// Every chunk has a number, and all that had to be dropped is counted, exactly,
// for each stream.
//
// # What is kept
//
// The chunks that are kept are one contiguous run, the newest of them all: first
// those in the file, in blocks of many, then those in memory. At any moment, for
// each stream, what was appended is what can be read plus what a [Gap] tells.
// What is dropped is always the oldest: the block in the file that a new one
// takes the place of, or the whole file when it does not work, or the oldest in
// memory when there is no file.
//
// The file is made when it is first needed. When it can't grow because the disk
// or the bound on all files is full, it goes on at the size that it has, and
// tries again each time it has been written through. When even that fails, all
// that is in it is dropped, and what leaves memory too, until a new file can be
// made, which is tried once for every block's worth of output.
//
// # Concurrency
//
// Methods of [Log] and [Spill] may be called by any goroutine at any time. A
// [Reader] belongs to one goroutine at a time.
//
// A log has two locks. One guards what is in memory, with the index of the file,
// and is never held across I/O, so [Log.Append], [Log.Grow] and
// [Log.Behind] do not wait for a disk and may be called under the caller's own
// lock. The other is held by whoever writes to the file, one at a time; it is
// taken first. Blocks are read under neither: one that was overwritten meanwhile
// is not used, and the second attempt keeps writers away. [Log.Trim],
// [Log.Read], [Log.Close] and [Reader.Next] do I/O and are called without other
// locks.
//
// No goroutine is started. The one function that is called back, when spilling
// fails, is called under no lock.
package outlog
