package process

import (
	"os/exec"
	"testing"
)

// BenchmarkTrue measures a whole command; BenchmarkBareExec measures the system's share of it.
func BenchmarkTrue(b *testing.B) {
	commands := New(Options{}).In(b.TempDir())
	c := sh("true")
	c.Scratch, c.Files = "tmp/x", map[string][]byte{"runner.sh": []byte("true")}
	for b.Loop() {
		if exit, err := commands.Run(b.Context(), c); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}

func BenchmarkBareExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
