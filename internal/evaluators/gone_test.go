package evaluators

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// idle creates a Pool and one of its evaluators.
func idle(t *testing.T) (*Pool, *process) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := New(path)
	t.Cleanup(p.Close)
	e, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, e
}

// TestGoneBeforeItIsAsked proves that an evaluator that was killed while it was idle does not cause an expression to
// fail, even before its end has been noticed.
func TestGoneBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	p, e := idle(t)
	e.signal()
	<-e.ended
	e.ended = make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { close(e.ended) })
	p.giveBack(e, true)
	if len(p.idle) != 1 {
		t.Fatalf("%d are idle", len(p.idle))
	}
	got, err := p.Template(t.Context(), "${n.toFixed(1)}", param.New("n", int64(1)), expr.Scope{Zone: time.UTC})
	if err != nil || got != "1.0" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestKilledWhileItIsAsked proves that an expression is still evaluated if the evaluator that may have read it is
// killed together with all idle ones.
func TestKilledWhileItIsAsked(t *testing.T) {
	t.Parallel()
	p, e := idle(t)
	other, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*process{other, e} {
		e.cmd.Process.Signal(syscall.SIGSTOP) // data that is written to it stays in its pipe
		p.giveBack(e, true)
		time.AfterFunc(100*time.Millisecond, e.signal)
	}
	got, err := p.Template(t.Context(), "${n.toFixed(1)}", param.New("n", int64(1)), expr.Scope{Zone: time.UTC})
	if err != nil || got != "1.0" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestKilledEachTime proves that an expression whose evaluators are killed each time fails its task and is not retried
// forever.
func TestKilledEachTime(t *testing.T) {
	t.Parallel()
	p, e := idle(t)
	p.giveBack(e, true)
	before := len(p.all)
	asked := 0
	ask := func(context.Context) (*process, error) {
		asked++
		e, err := p.start(t.Context())
		if err == nil {
			e.cmd.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(100*time.Millisecond, e.signal)
		}
		return e, err
	}
	_, err := p.scriptBy(t.Context(), ask, ask, expr.Script{})
	if asked != 2 || !errors.As(err, new(expr.ScriptError)) || len(p.all) != before {
		t.Errorf("asked %d times: %v; %d evaluators are left", asked, err, len(p.all))
	}
}
