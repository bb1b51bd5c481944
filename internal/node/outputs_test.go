package node_test

import (
	"errors"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
)

const counted = "params: {days: {type: integer, default: 7}}\noutputs: {rows: {value: \"${days * 10}\", type: integer}}\n"

// entriesOf returns how many entries an attempt's log has and how many writes it took.
func (w *world) entriesOf(text string) (entries, writes int) {
	p := w.serve()
	w.intercept(func(string, bool) error { writes++; return nil })
	a := p.run("zerodag: 1\n" + text + "+a: {work>: x}\n+b: {work>: y}\n")
	want(w.t, "status", p.end(a), "success")
	history, err := p.History(w.t.Context(), p.row(a), 1, 100)
	w.must(err)
	return len(history), writes
}

// TestOutputsCostNothing proves that an attempt with parameters and outputs has as many entries in its log, and as many
// writes, as one without.
func TestOutputsCostNothing(t *testing.T) {
	t.Parallel()
	var entries, writes [2]int
	for i, text := range []string{"", counted} {
		inBubble(t, func(w *world) { entries[i], writes[i] = w.entriesOf(text) })
	}
	want(t, "entries", entries[1], entries[0])
	want(t, "writes", writes[1], writes[0])
	if writes[0] == 0 {
		t.Error("no write was seen")
	}
}

// TestOutputsCrash proves that an attempt whose server dies at any write has its outputs once it has ended, and that
// its tasks ran as often as they should.
func TestOutputsCrash(t *testing.T) {
	t.Parallel()
	crashed := 0
	for at := 1; at <= 12; at++ {
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", "zerodag: 1\n"+counted+"+a: {work>: x}\n+b: {echo>: \"${days}\"}\n")
			a := p.start(1, func(r *catalogue.StartRequest) { r.Params = param.New("days", "3") })
			calls, dead := 0, false
			w.intercept(func(string, bool) error {
				if calls++; dead || calls == at {
					dead = true
					p.cut()
					return errors.New("crashed")
				}
				return nil
			})
			pass(10 * time.Second)
			p.crash()
			w.intercept(nil)
			if dead {
				crashed++
			}
			p = w.serve()
			want(t, "status", p.end(a), "success")
			outputs, err := p.Outputs(t.Context(), p.row(a))
			w.must(err)
			want(t, "outputs", param.Text(outputs), `{"rows":30}`)
		})
	}
	if crashed < 4 {
		t.Errorf("it crashed at %d writes only", crashed)
	}
}
