package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// TestStartsThatWait proves that of many events that come at once each starts one attempt, however few may
// run: what meets the limit, or a store that is away, waits and begins when there is room. An event that
// comes again starts nothing more.
func TestStartsThatWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(20*time.Second))
		p := w.serveTicked(func(o *node.Options) { o.Limits.Attempts = 5 })
		p.push("main.dig", "+a: {work>: a}\n")
		away := true
		w.intercept(func(call string, done bool) error {
			if call == "start" && away && !done {
				return host.ErrUnavailable
			}
			return nil
		})
		for i := range 60 {
			away = i%10 == 0
			d := events.StartDetail{ID: fmt.Sprint("e", i), Time: time.Unix(int64(i), 0), Project: "p", Workflow: "main"}
			w.must(p.StartByEvent(w.t.Context(), d, false))
			w.must(p.StartByEvent(w.t.Context(), d, false))
		}
		pass(3 * time.Hour)
		list, err := p.Attempts(w.t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		want(t, "attempts", len(list), 60)
		for _, a := range list {
			want(t, "status of "+a.RetryName, a.Status(), "success")
		}
	})
}

// TestStartsThatNeverBegin proves that an event which names what is not there is announced with the
// reason, and waits for nothing.
func TestStartsThatNeverBegin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		b := &bus{}
		p := w.serveTicked(func(o *node.Options) { o.Bus = b })
		w.must(p.StartByEvent(w.t.Context(), events.StartDetail{ID: "e", Time: time.Unix(1, 0), Project: "none", Workflow: "main"}, false))
		want(t, "told", b.told, []string{"Start Refused start-refused refused "})
		want(t, "sent", len(w.writes("send")), 0)
		if !strings.Contains(w.said(), "event starts nothing") {
			t.Errorf("the log says nothing of it:\n%s", w.said())
		}
	})
}
