package node_test

import (
	"testing"
	"time"

	"zerodag/internal/sqlite"
)

// TestGracefulStop proves that running tasks end, that their results are kept, that nothing new begins, and that the
// next process continues from there.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(10*time.Minute))
		p := w.serve()
		a := p.run("+a:\n  work>: a\n+b:\n  work>: b\n")
		pass(time.Minute)
		p.accept()
		began := time.Now()
		<-p.over
		want(t, "time it took", time.Since(began), 9*time.Minute)
		want(t, "tasks", p.tasks(a), []string{" planned", "+a success", "+b running"})
		w.wantRuns("+main+a/1")
		p = w.serve()
		want(t, "status", p.end(a), "success")
		w.wantRuns("+main+a/1", "+main+b/1")
	})
}

// TestHardStop proves that tasks that are cut off have no result and run again one second after the next start, under
// the next dispatch.
func TestHardStop(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		options := sqlite.Options{Path: w.t.TempDir() + "/db"}
		w.db = w.open(options)
		w.on("a", lasting(10*time.Minute))
		p := w.serve()
		a := p.run("+a:\n  work>: a\n+b:\n  work>: b\n")
		pass(time.Minute)
		p.crash()
		want(t, "tasks", p.tasks(a), []string{" planned", "+a running", "+b blocked"})
		w.must(w.db.Close())
		w.db = w.open(options)
		p = w.serve()
		want(t, "status", p.end(a), "success")
		row := p.row(a)
		want(t, "time it took", row.FinishedAt.Sub(row.CreatedAt), 11*time.Minute+time.Second)
		w.wantRuns("+main+a/1", "+main+a/2", "+main+b/1")
	})
}
