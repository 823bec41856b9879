// Package point makes mount points on the host: empty files and directories for
// sandboxes to mount on where the host has nothing, so that nothing can be put
// there. They are there while they are needed, and removed after.
//
// # How they are known
//
// A mount point has a mode that nothing else has: see [IsMark]. So it is known for
// what it is by whoever finds it, without a list: a policy takes it for nothing,
// the next sandbox that needs one at the place takes it over, and it is removed by
// whoever needs it last. It is readable, as a lock takes that, and nobody can put
// anything into it. Users share those of each other, in /tmp as a rule, unless an
// umask keeps them from it.
//
// # Who may remove them
//
// To remove a mount point uncovers what is below it in every sandbox that has
// mounted something there. Whoever needs one holds a shared lock on it (flock), in
// this and any other program; it is removed by who gets that lock for himself. What is
// another user's, in a directory where only he can remove it, stays until he next needs
// one there. Should a program be killed, that waits until whoever it has started
// to mount something there is dead, too: see [Keeper.Lock].
//
// # What is left behind
//
// Nothing, when all that was held has been released. Should the program be killed,
// the warden knows of the list of them, which is a file in the runtime folder, and
// sweeps up; should that be killed, too, the next program of the same user does. What
// is not even on that list (the folder is empty after the system has been started
// anew) is removed by the next sandbox that needs it.
//
// # Concurrency
//
// Methods may be called by any goroutine. Who needs the same mount point waits for
// each other, and for nobody else.
package point

import "io/fs"

// Modes of mount points, less what the umask takes from others than the owner. A file
// that can't be executed, and a directory that nobody can write to, have no use for the
// sticky bit.
const (
	fileMode      = fs.ModeSticky | 0o444
	directoryMode = fs.ModeSticky | 0o555 // to look for something in it must say that there is nothing

	// optional is what need not be left of that.
	optional = 0o055
)

// IsMark tells whether a file or directory is a mount point of ours, or what is
// left of one: it stands for nothing being there. Of a link that has to be what
// Lstat says.
func IsMark(info fs.FileInfo) bool {
	// A directory may have its group from the one that it is in.
	mode := info.Mode() &^ fs.ModeSetgid
	if info.IsDir() {
		return mode|optional == directoryMode|fs.ModeDir
	}
	return mode|optional&fileMode.Perm() == fileMode && info.Size() == 0
}

// Point is what has to be there.
type Point struct {
	Path      string // absolute and free of links
	Directory bool
}

// State is what there is at the place of a [Point].
type State int

// States.
const (
	// Absent means that nothing is there, nor can be put there by us or by a
	// confined program.
	Absent State = iota
	// File and Directory mean that such a one is there: a mount point, or what
	// somebody else has put there in the meantime.
	File
	Directory
)
