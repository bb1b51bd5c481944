package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// chain returns a workflow of n tasks that do I/O, one after the other.
func chain(t testing.TB, n int) *engine.Definition {
	t.Helper()
	var pairs []any
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("+task%d", i), param.New("http>", "http://example.com/api/resource?page=1", "method", "GET"))
	}
	d, err := engine.Define(dig.Workflow{Name: "w0", Zone: "UTC", Config: param.New(pairs...)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestBudget checks how much an attempt writes, with real entries of the engine: a chain of 100 tasks needs one write
// unit for each task and twelve for its start and its end, and an attempt of one task needs eleven in total.
func TestBudget(t *testing.T) {
	t.Parallel()
	db, _, p, b := started(t)
	for i, x := range []struct {
		tasks int
		most  float64
	}{{1, 11}, {100, 100 + 12}} {
		b.count.Take()
		def := chain(t, x.tasks)
		state := engine.New(def, nil)
		now, guard := time.Now().UTC(), engine.By{Guard: "g"}
		changes, _ := state.Step(engine.Start{By: guard, Params: param.New("session_time", "2026-01-01T00:00:00+00:00"), Limit: 1000}, now)
		entry := func(seq int64, changes []engine.Change) host.Entry {
			text, err := engine.EncodeChanges(changes)
			if err != nil {
				t.Fatal(err)
			}
			return host.Entry{Seq: seq, Nonce: strings.Repeat("N", 26), At: now, Changes: text,
				Events: []byte(`[{"v":1,"kind":"succeeded","run":{"task":12,"dispatch":1},"guard":"1234567890123456/12.1"}]`)}
		}
		n := newAttempt(p, int64(i), "")
		n.First = entry(1, changes)
		list, err := db.Start(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		seq, since := int64(1), 0
		for !state.Ended() {
			run := engine.Run{}
			for _, e := range state.Outstanding("g") {
				if d, ok := e.(engine.Dispatch); ok {
					run = d.Run
				}
			}
			changes, why := state.Step(engine.Succeeded{By: guard, Run: run, Result: engine.Outcome{Stores: param.New("http", param.New("last_content", "answer", "last_status", int64(200)))}}, now)
			if why != "" {
				t.Fatalf("task %d: %s", run.Task, why)
			}
			seq++
			e := entry(seq, changes)
			if since += len(e.Changes); since > 64<<10 && !state.Ended() {
				if e.Snapshot, err = engine.EncodeState(state); err != nil {
					t.Fatal(err)
				}
				since = 0
			}
			if err := db.Append(t.Context(), list[0].ID, e); err != nil {
				t.Fatal(err)
			}
		}
		archive, err := engine.EncodeState(state)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Finish(t.Context(), list[0].ID, host.End{At: now, Success: true, Archive: archive}); err != nil {
			t.Fatal(err)
		}
		took := b.count.Take()
		t.Logf("%d tasks: %d entries, %v write units, %v read units, %.2f write units per task", x.tasks, seq, took.Writes, took.Reads, took.Writes/float64(x.tasks))
		if took.Writes > x.most {
			t.Errorf("%d tasks took %v write units, want at most %v", x.tasks, took.Writes, x.most)
		}
	}
}
