// Package tree keeps a process together with all that it starts, so that the
// whole of it can be killed: children and theirs, also those that have left
// the session and the process group, whose parents are dead, or that ignore
// signals.
//
// # Means
//
// A [Keeper] holds trees together in one of several ways. By cgroup2 and
// freezer the kernel does it: each tree has a control group, children are born
// into it, and an ordinary program does not get out. By walk, which needs no
// privileges, members are found among all processes: by descent, by session
// and group of the leader, and by a mark that children inherit. By group only
// the process group is reached. On Windows there are job objects.
//
// # The life of a tree
//
// [Keeper.New] makes a tree for one process that is about to be forked.
// [Tree.Enter], the fork and [Tree.Leave] happen on one locked thread;
// [Tree.Started] tells of the success. [Tree.Kill] may be called as often as
// needed from then on, also when the leader has been reaped, of which
// [Tree.Reaping] tells before. [Tree.Release] comes last, for a tree that is
// known to be empty; what it took is used for another one.
//
// # Bounds
//
// [Keeper.NewBounded] makes a tree that can't use more than it may of memory and
// processes, whatever the means: control groups hold it within its bounds, by
// version 2 or 1, one for each hierarchy that has a controller which is needed.
// The leader joins them itself, by [Tree.Entry], right before it executes its
// program: all that is charged to them is the program's. With version 2 a group
// has no controllers while processes are in the one above it. If that are this
// program and its descendants, and it is allowed to, it moves to a group of its
// own, and back at the end.
//
// # Concurrency
//
// Methods may be called by any goroutine, with these exceptions: Enter and
// Leave as said above; Kill not before Started; nothing after Release. Kill
// blocks until all members are dead, for two seconds at most. None of the
// package's locks is held meanwhile. Looks at the trees of a keeper that are asked
// for at the same time are one look.
//
// # What is left behind
//
// Nothing, when [Keeper.Close] has returned. If the program is killed, what it
// has told its [Registrar] of can be removed with [Sweep] by another one; the
// next [Open] by the same user looks for what nobody has removed.
package tree
