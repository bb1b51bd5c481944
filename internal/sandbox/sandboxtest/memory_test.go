package sandboxtest_test

import (
	"sync/atomic"
	"testing"

	"zerodag/internal/sandbox/sandboxtest"
)

// TestMemory proves that the model meets the contract.
func TestMemory(t *testing.T) {
	t.Parallel()
	m, n := sandboxtest.NewMemory(), atomic.Int64{}
	sandboxtest.Suite(t, sandboxtest.Stores{Commands: m, Work: m, Runners: m, Liveness: m, Fences: m, Attempt: func() int64 { return n.Add(1) }})
}
