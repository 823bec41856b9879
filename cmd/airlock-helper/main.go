// The runtime would read the CPU limit of its cgroup, and hold the file open.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command airlock-helper works beside the daemon, which has it embedded and
// executes it: it is nothing to install or to call. It starts in a millisecond
// and takes little memory because it links next to nothing.
package main

import (
	"os"

	"github.com/airlock-exec/airlock/internal/helper"
)

func main() {
	os.Exit(helper.Main(os.Args[1:]))
}
