package engine_test

import (
	"fmt"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest"
	"zerodag/engine/param"
)

var benchNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// started returns an attempt of a workflow whose root has these subtasks.
func started(tb testing.TB, config *param.Map) *engine.State {
	tb.Helper()
	def, err := engine.Define(dig.Workflow{Name: "wf", Zone: "UTC", Config: config})
	if err != nil {
		tb.Fatal(err)
	}
	s := engine.New(def, nil)
	step(tb, s, engine.Start{By: engine.By{Guard: "start"}, Params: param.New("p", int64(1)), Limit: engine.HardLimit * 10})
	return s
}

func step(tb testing.TB, s *engine.State, e engine.Event) []engine.Change {
	changes, why := s.Step(e, benchNow)
	if why != "" {
		tb.Fatalf("%T %+v: %s", e, e, why)
	}
	return changes
}

// succeed ends the task's current run successfully and reads the effects that the message now owes.
func succeed(tb testing.TB, s *engine.State, id engine.TaskID, o engine.Outcome) {
	run := engine.Run{Task: id, Dispatch: s.Task(id).Dispatch}
	by := engine.By{Guard: s.Task(id).Name}
	step(tb, s, engine.Succeeded{By: by, Run: run, Result: o})
	s.Outstanding(by.Guard)
}

func sizes() []int { return []int{1_000, 10_000, 100_000} }

// BenchmarkStepEcho runs all echo tasks of an attempt, one after another: the time per step must not depend on the
// attempt's size.
func BenchmarkStepEcho(b *testing.B) {
	for _, size := range sizes() {
		for _, order := range []string{"sequence", "parallel", "sliding"} {
			b.Run(fmt.Sprintf("%s/%d", order, size), func(b *testing.B) {
				var parallel param.Value
				if order == "parallel" {
					parallel = true
				}
				if order == "sliding" {
					parallel = param.New("limit", int64(8), "sliding", true)
				}
				config := enginetest.Loop(size, parallel)
				config.Set("zerodag", int64(1))
				var s *engine.State
				next := size
				for b.Loop() {
					if next >= size {
						b.StopTimer()
						s, next = started(b, config), 0
						b.StartTimer()
					}
					succeed(b, s, engine.TaskID(next+2), engine.Outcome{})
					next++
				}
			})
		}
	}
}

// BenchmarkStepFanOut processes one result that creates 199 tasks and their group.
func BenchmarkStepFanOut(b *testing.B) {
	for _, size := range sizes() {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			config := enginetest.Loop(size, true)
			sub := enginetest.Loop(engine.Portion-1, true)
			var s *engine.State
			next := size
			for b.Loop() {
				if next >= min(size, 400) {
					b.StopTimer()
					s, next = started(b, config), 0
					b.StartTimer()
				}
				succeed(b, s, engine.TaskID(next+2), engine.Outcome{Subtasks: sub})
				next++
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/engine.Portion, "µs/task")
		})
	}
}

// BenchmarkGroupRetry10000 copies a group of 10,000 tasks for its next iteration.
func BenchmarkGroupRetry10000(b *testing.B) {
	const size = 10_000
	group := enginetest.Loop(size, true)
	group.Set("_retry", int64(1))
	config := param.New("+g", group)
	for b.Loop() {
		b.StopTimer()
		s := started(b, config)
		for id := range engine.TaskID(size - 1) {
			succeed(b, s, id+3, engine.Outcome{})
		}
		last := s.Task(size + 2)
		b.StartTimer()
		step(b, s, engine.Errored{By: engine.By{Guard: "m"}, Run: engine.Run{Task: last.ID, Dispatch: last.Dispatch}, Error: param.New()})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/size, "µs/task")
}

// BenchmarkChain runs a chain of tasks that each read their parameters and store one: the time per task must not depend
// on its position.
func BenchmarkChain(b *testing.B) {
	for _, size := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			config := enginetest.Loop(size, nil)
			var s *engine.State
			next := size
			for b.Loop() {
				if next >= size {
					b.StopTimer()
					s, next = started(b, config), 0
					b.StartTimer()
				}
				id := engine.TaskID(next + 2)
				if got := s.ParamsOf(id); got.Len() == 0 {
					b.Fatal("no parameters")
				}
				succeed(b, s, id, engine.Outcome{Stores: param.New(fmt.Sprintf("k%d", next%20), int64(next))})
				next++
			}
		})
	}
}

func halfDone(tb testing.TB, size int) *engine.State {
	s := started(tb, enginetest.Loop(size, true))
	for id := range engine.TaskID(size / 2) {
		succeed(tb, s, id+2, engine.Outcome{Stores: param.New("k", int64(id))})
	}
	return s
}

// BenchmarkEncodeState writes a snapshot of a half-finished attempt.
func BenchmarkEncodeState(b *testing.B) {
	for _, size := range sizes()[:2] {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := halfDone(b, size)
			for b.Loop() {
				text, err := engine.EncodeState(s)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(size), "µs/task")
		})
	}
}

// BenchmarkDecodeState reads such a snapshot.
func BenchmarkDecodeState(b *testing.B) {
	for _, size := range sizes()[:2] {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := halfDone(b, size)
			text, err := engine.EncodeState(s)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := engine.DecodeState(s.Definition(), nil, text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(size), "µs/task")
		})
	}
}
