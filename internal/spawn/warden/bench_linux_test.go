package warden

import "testing"

// BenchmarkTell is what the warden adds to each process: one record comes, and
// goes.
func BenchmarkTell(b *testing.B) {
	w := New(Config{Command: watched})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	const record = `cgroup2 "/sys/fs/cgroup/airlock-1234/567"`
	for b.Loop() {
		w.Add(record)
		w.Remove(record)
	}
}

// BenchmarkStart is what the first process waits for.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		w := New(Config{Command: watched})
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		w.Close()
		b.StartTimer()
	}
}
