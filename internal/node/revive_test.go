package node_test

import (
	"testing"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// TestReviveAll proves that an attempt whose message is gone runs again after a revival, once no process can still be
// working on it; and that a running attempt is not disturbed, no matter how often it is revived.
func TestReviveAll(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"lost": true, "under way": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(14*time.Minute))
				w.on("b", lasting(14*time.Minute))
				limits := func(o *node.Options) {
					o.Limits = host.Limits{ProcessTime: 15 * time.Minute, Lease: 30 * 24 * time.Hour, ChainTime: time.Second}
				}
				p := w.serve(limits)
				a := p.run("+a: {work>: a}\n+b: {work>: b}\n")
				pass(time.Minute)
				if lost {
					p.crash() // and its message is not redelivered during the test
					p = w.serve(limits)
				}
				for range 10 {
					r, err := p.ReviveAll(t.Context(), 0)
					if err != nil {
						t.Fatal(err)
					}
					want(t, "revived", r, catalogue.Revived{Attempts: 1, Messages: 1, Wait: 20 * time.Minute})
					pass(time.Minute)
				}
				want(t, "status", p.end(a), "success")
				ran, took := 2, p.row(a).FinishedAt.Sub(a.CreatedAt)
				if lost {
					ran++
				}
				want(t, "runs", len(w.ran()), ran)
				if lost && took < 49*time.Minute || took > 50*time.Minute || !lost && took > 29*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestRevivedBacklog proves that a run whose message only waited for an agent takes place once: the receiver of the
// message takes the run over, so the revival does not.
func TestRevivedBacklog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(14*time.Minute))
		o := w.options()
		o.Limits, o.Inventory = host.Limits{ProcessTime: 15 * time.Minute, Lease: time.Hour}, nil
		p := w.serveParts(node.New(o), node.Parts{Executor: true})
		a := p.run("+a: {work>: a}\n")
		pass(time.Minute)
		if _, err := p.ReviveAll(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		pass(18 * time.Minute) // the queue of tasks has a backlog
		p = w.serveParts(node.New(o), node.Parts{Executor: true, Agent: true})
		want(t, "status", p.end(a), "success")
		want(t, "runs", len(w.ran()), 1)
		pass(time.Hour)
		want(t, "runs", len(w.ran()), 1)
	})
}
