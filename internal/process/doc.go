// Package process keeps the processes of one session: what state each is in,
// what it has written, what is to be written to it, and who is told about it.
//
// # States
//
// A process is starting, running, exited (its exit has a number), closed (no
// more output will come) and at last forgotten. [Process.moveTo] is the one
// place that changes the state.
//
// # Numbers
//
// Output, the exit and the close of a process share one counter. Every event
// takes exactly one number, closed the last. Events are numbered under the
// lock of the process and handed on in the order of their numbers.
//
// # Who is told
//
// The log of a process is the truth. A [Feed] is a cursor over the logs of all
// processes, which a connection reads to send notifications; [Table.Read] is
// another. A process whose feed falls behind is not read from until the feed
// has caught up, unless nobody takes the feed's events; without a feed it never
// waits. What does not stay in memory the log keeps in a file.
//
// # Locks
//
// Table, Process and Feed have a lock each, taken in this order and never held
// while calling a child or waiting.
package process
