package evaluators

import (
	"os"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// TestGoneBeforeItIsAsked proves that an evaluator which something has ended while it was idle fails no
// expression, also in the moment in which its end is not known yet.
func TestGoneBeforeItIsAsked(t *testing.T) {
	t.Parallel()
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
