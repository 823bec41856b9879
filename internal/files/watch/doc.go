// Package watch tells clients of what changes in files and directories.
//
// # What is told
//
// A [Watches] belongs to a connection. From the moment that [Watches.Watch] has
// returned, everything that changes is told after its begin has been called; or, if
// it can't be, the client is told to rescan. A client that believes what it is told,
// and looks itself when it is told to, believes in the end what is there:
//
//   - created: something new is at the path. What was known of the path, and below
//     it, is void. What a new directory holds is told as created, too.
//   - modified: data or metadata of what is there have changed.
//   - removed: nothing is at the path and below it any more.
//
// Globs choose what is told; but where a directory is replaced or goes that may hold
// what was told, that is told, whether or not the directory itself is chosen.
//
// Changes are gathered for [limits.WatchWindow] from the first one on, or for as
// long as the client is slow, and what has happened at one path is told as one
// change:
//
//	happens     told then
//	created     created, whatever was to be told
//	removed     removed, whatever was to be told
//	modified    what was to be told, if anything
//
// What was created and removed is told as removed, as the client may have looked in
// between; a modification after the removal is one of a file that is still open. Of
// what happened below a directory before it was created or removed nothing is told.
// A notification has its changes in the order of their paths, directories before
// what is in them.
//
// Not seen, as the system tells nobody: writes through memory maps, writes through
// another hard link outside of the watch, and changes that another host makes in a
// network file system.
//
// # Who waits for whom
//
// All connections of an executor share one instance of what the system offers,
// which is scarce. Its reader (hub) waits for nobody: it puts what it hears into
// the bounded inbox of each watch. A goroutine of the watch (follow) takes it out,
// watches new directories, and merges changes into the bounded outbox. Another one
// (tell) sends them, at the pace of the client. Where a bound is reached, what is
// there is dropped, and the client told to rescan.
//
// # Locks
//
// Budget, hub.ops, hub.mu in this order; those of Watches, inbox and outbox are
// taken last, alone, and not held while anything waits.
package watch
