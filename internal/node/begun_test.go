package node_test

import (
	"context"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// TestCrashesAtOnce proves that no task fails because its server is repeatedly killed within its first second, or
// before the task has everything it needs, with or without other servers.
func TestCrashesAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life    time.Duration
		prepare time.Duration
		shared  bool
		runs    int
	}{
		"within the first second":                      {life: 900 * time.Millisecond, runs: 4},
		"just when tasks begin":                        {life: 1100 * time.Millisecond, runs: 6},
		"just when tasks begin, with several servers":  {life: 1100 * time.Millisecond, runs: 6, shared: true},
		"before there are files":                       {life: 10 * time.Minute, prepare: time.Hour, runs: 4},
		"before there are files, with several servers": {life: 10 * time.Minute, prepare: time.Hour, shared: true, runs: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				options := sqlite.Options{Path: w.t.TempDir() + "/db"}
				w.db = w.open(options)
				w.on("a", lasting(time.Hour))
				prepare := c.prepare
				edit := func(o *node.Options) {
					o.Shared = c.shared
					o.Workspace = func(ctx context.Context, _ operators.Identity, _ host.Workflow) (host.Workspace, error) {
						select {
						case <-time.After(prepare):
						case <-ctx.Done():
						}
						return host.Workspace{Leave: func() {}}, ctx.Err()
					}
				}
				p := w.serve(edit)
				a := p.run("_parallel: true\n+a: {work>: a}\n+b: {work>: a}\n")
				for range 30 {
					pass(c.life)
					p.crash()
					w.must(w.db.Close())
					w.db = w.open(options)
					p = w.serve(edit)
				}
				prepare = 0
				want(t, "status", p.end(a), "success")
				if n := len(w.ran()); n > c.runs {
					t.Errorf("%d runs, want at most %d: %v", n, c.runs, w.ran())
				}
			})
		})
	}
}

// TestCrashAtTheFirstMoment proves that a task that crashes the server as soon as it begins eventually fails.
func TestCrashAtTheFirstMoment(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		options := sqlite.Options{Path: w.t.TempDir() + "/db"}
		w.db = w.open(options)
		w.on("a", lasting(time.Hour))
		p := w.serve()
		a := p.run("+a: {work>: a}\n")
		crashes := 0
		for !p.row(a).Done && crashes < 30 {
			if pass(time.Millisecond); len(w.ran()) > crashes {
				crashes++
				p.crash()
				w.must(w.db.Close())
				w.db = w.open(options)
				p = w.serve()
			}
		}
		want(t, "status", p.end(a), "error")
		if crashes < 4 || crashes > 10 {
			t.Errorf("%d crashes, want a few", crashes)
		}
	})
}

// TestCrashesOfSeveral proves that a task that crashes several servers fails at the crash limit, and never without a
// limit.
func TestCrashesOfSeveral(t *testing.T) {
	t.Parallel()
	for _, most := range []int{2, 3, -1} {
		inBubble(t, func(w *world) {
			w.on("a", lasting(time.Hour))
			edit := func(o *node.Options) { o.Shared, o.Limits.Crashes = true, most }
			p := w.serve(edit)
			a := p.run("+a: {work>: a}\n")
			for range 4 {
				pass(20 * time.Minute)
				p.crash()
				p = w.serve(edit)
				pass(10 * time.Minute)
			}
			status, runs := "error", most
			if most < 0 {
				status, runs = "success", 5
			}
			want(t, "status", p.end(a), status)
			want(t, "runs", len(w.ran()), runs)
		})
	}
}

// TestKillBeforeBegin proves that a task does not begin if its attempt was killed while its files were prepared,
// although the kill is not in the log yet, and that the cleanup after the kill begins.
func TestKillBeforeBegin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		edit := func(o *node.Options) {
			o.Workspace = func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
				time.Sleep(time.Minute)
				return host.Workspace{Leave: func() {}}, nil
			}
		}
		o := w.options()
		edit(&o)
		p := w.serveParts(node.New(o), node.Parts{Agent: true})
		executor := w.serveParts(node.New(o), node.Parts{Executor: true})
		a := p.run("zerodag: 1\n+a: {work>: a}\n_finally:\n  work>: f\n")
		pass(time.Second)
		executor.crash()
		_, err := p.Kill(w.t.Context(), a.Site, a.ID)
		w.must(err)
		pass(5 * time.Minute)
		want(t, "runs before the kill is in the log", len(w.ran()), 0)
		w.serveParts(node.New(o), node.Parts{Executor: true})
		want(t, "status", p.end(a), "killed")
		want(t, "runs", firsts(w.ran()), []string{"+main^finally"})
	})
}
