// Package confined carries out operations on files in a confinement. This program
// never does so itself: a file that it can reach and the client must not could be
// named by a link that another process moves meanwhile. So they are done by a
// worker, which is this program executed again in a confinement of the same kind
// as that of a command; it runs the code of package files, and what the kernel
// denies it is what the client is told.
//
// A worker serves all operations whose policies come to the same confinement on
// this host as it is now; the policy is resolved anew for each. It ends when it
// has been idle for some seconds.
//
// What is read or written does not pass through a worker: it opens files, and hands
// over the descriptors.
//
// # Concurrency
//
// Methods of [Pool] may be called at any time by any goroutine. Whoever waits for a
// worker holds no lock. Nothing is left when [Pool.Close] has returned.
package confined
