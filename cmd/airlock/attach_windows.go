package main

import "os"

// notifySize does nothing: see sizeTicks.
func notifySize(chan<- os.Signal) {}
