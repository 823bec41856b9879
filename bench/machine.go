package main

import (
	"fmt"
	"runtime"
)

// machine is where something was measured. What an operating system does not
// tell is empty.
type machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"` // its name
	Cores  int    `json:"cores"`         // that this program may use
	Go     string `json:"go"`
	// Load is the load average of the minute before the run: 0 is a quiet machine.
	Load float64 `json:"load"`
}

func thisMachine() machine {
	m := machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.Kernel, m.CPU, m.Load = describeSystem()
	return m
}

// String is one line for a person.
func (m machine) String() string {
	text := fmt.Sprintf("%s/%s", m.OS, m.Arch)
	if m.Kernel != "" {
		text += " " + m.Kernel
	}
	if m.CPU != "" {
		text += ", " + m.CPU
	}
	return text + fmt.Sprintf(", %d cores, %s, load %.1f", m.Cores, m.Go, m.Load)
}
