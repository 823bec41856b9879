// Package escape holds what a hostile program tries in a sandbox: to write and to
// read what it must not, to reach sockets and other processes, and to get at parts
// of the kernel that no ordinary program needs. Each attempt has to fail, with the
// error that a program expects, and nothing of the host may have changed after all
// of them.
//
// The tests run the real program, as root and as an ordinary user; what is confined
// is the test program itself. Attempts are made with bare system calls, as nobody
// who attacks has use for what a library checks before.
package escape
