// Package linux enforces plans of sandboxes on Linux, in full or not at all.
//
// # Tiers
//
// By namespaces a command sees a root of its own, and only its own processes; by
// Landlock it sees the host, and is let do what the plan says. The second is weaker
// (others' processes can be seen, and what is hidden can be looked for), and can't
// express every plan. It is taken where the host refuses namespaces, or where an
// operator asks for it. A plan that restricts no files takes neither: a filter of
// system calls does, unless there is to be a network of its own.
//
// Both are on top of a filter of system calls, no_new_privs and the loss of all
// capabilities.
//
// # What the host offers
//
// That is found out when it is first needed, by confining a program for real, and
// remembered. What can't be had is told with its cause, and how to mend it.
package linux
