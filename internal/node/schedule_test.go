package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// fired returns the session and the start time of each attempt so far, in the order of their IDs.
func (p *process) fired() []string {
	p.w.t.Helper()
	list, err := p.Attempts(p.w.t.Context(), host.AttemptQuery{Retried: true})
	p.w.must(err)
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i].SessionTime.Format("02T15:04:05")+" at "+list[i].CreatedAt.Format("02T15:04:05.000"))
	}
	return out
}

func (p *process) schedule() host.Schedule {
	p.w.t.Helper()
	list, err := p.Schedules(p.w.t.Context(), host.ScheduleQuery{})
	p.w.must(err)
	if len(list) != 1 {
		p.w.t.Fatalf("there are %d schedules", len(list))
	}
	return list[0]
}

func scheduled(schedule string) string {
	return "timezone: UTC\nschedule:\n  " + strings.ReplaceAll(schedule, "\n", "\n  ") + "\n+a:\n  work>: a\n"
}

// pushFrom pushes a workflow with the time from which first runs count.
func (p *process) pushFrom(from time.Time, text string, clear bool) {
	p.w.t.Helper()
	_, err := p.Push(p.w.t.Context(), catalogue.PushRequest{Project: "p", Revision: fmt.Sprint("r", p.w.blobs.count()), ScheduleFrom: from, ClearAll: clear},
		archive("main.dig", text), 1)
	p.w.must(err)
}

// TestFires proves that schedules fire exactly on time, and that missed sessions are handled as configured.
func TestFires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule string
		away     time.Duration // starting at minute 1
		pass     time.Duration
		want     []string
	}{
		"hourly": {"hourly>: '30:00'", 0, 3 * time.Hour, []string{
			"01T00:00:00 at 01T00:30:00.000", "01T01:00:00 at 01T01:30:00.000", "01T02:00:00 at 01T02:30:00.000"}},
		"minutely": {"cron>: '* * * * *'", 0, 3*time.Minute + time.Second, []string{
			"01T00:00:00 at 01T00:00:01.000", "01T00:01:00 at 01T00:01:00.000", "01T00:02:00 at 01T00:02:00.000", "01T00:03:00 at 01T00:03:00.000"}},
		"catch-up": {"hourly>: '30:00'", 4 * time.Hour, 5 * time.Hour, []string{
			"01T00:00:00 at 01T04:01:00.000", "01T01:00:00 at 01T04:01:00.000", "01T02:00:00 at 01T04:01:00.000",
			"01T03:00:00 at 01T04:01:00.000", "01T04:00:00 at 01T04:30:00.000"}},
		"skip_delayed_by": {"hourly>: '30:00'\nskip_delayed_by: 40m", 4 * time.Hour, 5 * time.Hour, []string{
			"01T03:00:00 at 01T04:01:00.000", "01T04:00:00 at 01T04:30:00.000"}},
		"skip_on_overtime": {"hourly>: '30:00'\nskip_on_overtime: true", 0, 6 * time.Hour, []string{
			"01T00:00:00 at 01T00:30:00.000", "01T03:00:00 at 01T03:30:00.000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(150*time.Minute))
				began := time.Now()
				p := w.serve()
				p.push("main.dig", scheduled(c.schedule))
				if c.away > 0 {
					pass(time.Minute)
					p.crash()
					time.Sleep(c.away)
					p = w.serve()
				}
				pass(c.pass - time.Since(began))
				want(t, "fired", p.fired(), c.want)
			})
		})
	}
}

// TestZones proves that schedules fire correctly across daylight saving time changes.
func TestZones(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start time.Time // the day before
		want  []string  // run times
	}{
		"forward":  {time.Date(2000, 3, 25, 12, 0, 0, 0, time.UTC), []string{"26T01:30:00", "27T00:30:00"}},  // 02:30 is missing on the 26th
		"backward": {time.Date(2000, 10, 28, 12, 0, 0, 0, time.UTC), []string{"29T00:30:00", "30T01:30:00"}}, // 02:30 appears twice on the 29th
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				time.Sleep(time.Until(c.start))
				p := w.serve()
				p.push("main.dig", strings.Replace(scheduled("daily>: '02:30:00'"), "UTC", "Europe/Berlin", 1))
				pass(48 * time.Hour)
				var got []string
				for _, f := range p.fired() {
					_, at, _ := strings.Cut(f, " at ")
					got = append(got, strings.TrimSuffix(at, ".000"))
				}
				want(t, "fired", got, c.want)
			})
		})
	}
}

// TestClock proves that when the clock is set or the machine was suspended, due schedules fire within a second, and
// none fires twice.
func TestClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", scheduled("hourly>: '30:00'"))
		pass(10 * time.Minute)
		w.skew.Store(int64(2 * time.Hour)) // the machine slept, and so did its timers
		pass(time.Second)
		want(t, "after the sleep", len(p.fired()), 2)
		w.skew.Store(0) // it was a mistake
		pass(90 * time.Minute)
		want(t, "until the clock is there again", len(p.fired()), 2)
		pass(time.Hour)
		got := p.fired()
		want(t, "then", got[len(got)-1], "01T02:00:00 at 01T02:30:00.000")
		want(t, "number", len(got), 3)
	})
}

// TestEdits checks the effects of disabling, enabling, skipping and pushing a schedule again.
func TestEdits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", scheduled("hourly>: '30:00'"))
		id := p.schedule().ID
		_, err := p.Disable(w.t.Context(), 0, id)
		w.must(err)
		pass(2 * time.Hour)
		want(t, "while disabled", len(p.fired()), 0)
		p.push("main.dig", scheduled("hourly>: '30:00'"))
		want(t, "disabled after a push", p.schedule().DisabledAt.IsZero(), false)
		pass(time.Hour)
		_, err = p.Enable(w.t.Context(), 0, id, catalogue.EnableRequest{Skip: true})
		w.must(err)
		pass(time.Hour)
		want(t, "enabled with skip", p.fired(), []string{"01T03:00:00 at 01T03:30:00.000"})

		_, err = p.Skip(w.t.Context(), 0, id, catalogue.SkipRequest{Count: 2, From: w.now()})
		w.must(err)
		pass(3*time.Hour - time.Second) // not 07:00: nothing may be due while the test checks
		want(t, "after a skip", p.fired()[1:], []string{"01T06:00:00 at 01T06:30:00.000"})
		_, err = p.Skip(w.t.Context(), 0, id, catalogue.SkipRequest{To: "2000-01-01T03:00:00Z"})
		want(t, "code of skipping to the past", code(err), host.Conflict)

		p.push("main.dig", scheduled("minutes_interval>: 60"))
		want(t, "last session after a push", p.schedule().Times.Last.Hour(), 6)
		pass(time.Minute)
		want(t, "goes on from its last session", p.fired()[2:], []string{"01T07:00:00 at 01T07:00:00.000"})

		w.must(p.crashedPush(scheduled("hourly>: '30:00'")))
		p.pushFrom(w.now(), scheduled("hourly>: '30:00'"), true)
		want(t, "last session, cleared", p.schedule().Times.Last.IsZero(), true)
		p.push("other.dig", "+a:\n  work>: a\n")
		list, err := p.Schedules(w.t.Context(), host.ScheduleQuery{})
		w.must(err)
		want(t, "schedules of a workflow that is gone", len(list), 0)
	})
}

// crashedPush pushes something that is refused, which changes nothing.
func (p *process) crashedPush(text string) error {
	before := p.schedule()
	_, err := p.Push(p.w.t.Context(), catalogue.PushRequest{Project: "p", Revision: "bad"}, archive("main.dig", text+"+b:\n  nonsense: x\n"), 1)
	if code(err) != host.Invalid {
		return fmt.Errorf("a wrong push: %w", err)
	}
	if after := p.schedule(); !after.Times.Run.Equal(before.Times.Run) || !after.UpdatedAt.Equal(before.UpdatedAt) {
		return errors.New("a refused push moved the schedule")
	}
	return nil
}

// TestFiringMinute proves that a crash anywhere while a schedule fires results in exactly one attempt, even of a
// schedule that skips while an attempt runs: its own attempt does not count as running.
func TestFiringMinute(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"start before", "start after", "update schedule before", "update schedule after"} {
		inBubble(t, func(w *world) {
			w.on("a", lasting(50*time.Minute))
			p := w.serve()
			p.push("main.dig", scheduled("hourly>: '30:00'\nskip_on_overtime: true"))
			dead := false
			w.intercept(func(call string, done bool) error {
				if dead = dead || at == call+map[bool]string{false: " before", true: " after"}[done]; dead {
					p.cut()
					return errors.New("crashed")
				}
				return nil
			})
			pass(30*time.Minute + 10*time.Second)
			want(t, "crashed", dead, true)
			p.crash()
			w.intercept(nil)
			p = w.serve()
			pass(time.Minute)
			want(t, "number of attempts, crashed at "+at, len(p.fired()), 1)
			times := p.schedule().Times
			want(t, "last session", times.Last.Hour(), 0)
			want(t, "next session", times.Session.Hour(), 1)
		})
	}
}

// TestNotNow checks what a schedule does if it cannot start its attempt.
func TestNotNow(t *testing.T) {
	t.Parallel()
	t.Run("too many attempts", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(5*time.Hour))
			p := w.serve(func(o *node.Options) { o.Limits.Attempts = 1 })
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(2 * time.Hour)
			s := p.schedule()
			want(t, "session", s.Times.Session.Format("15:04"), "01:00")
			want(t, "next try", s.Times.Run.Format("15:04"), "02:10")
		})
	})
	t.Run("room again", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(65*time.Minute))
			p := w.serve(func(o *node.Options) { o.Limits.Attempts = 1 })
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(95*time.Minute - time.Second) // the first one ends at 01:35
			want(t, "put off until", p.schedule().Times.Run.Format("15:04"), "01:40")
			pass(10 * time.Second)
			list := p.fired()
			if len(list) != 2 || list[1] < "01T01:00:00 at 01T01:35:00" || list[1] > "01T01:00:00 at 01T01:35:10" {
				t.Errorf("fired: %v, want the session 01:00 as soon as there is room", list)
			}
			want(t, "next session", p.schedule().Times.Session.Format("15:04"), "02:00")
		})
	})
	t.Run("room again, but disabled", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(65*time.Minute))
			p := w.serve(func(o *node.Options) { o.Limits.Attempts = 1 })
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(92 * time.Minute)
			s := p.schedule()
			_, err := p.Disable(w.t.Context(), s.Site, s.ID)
			w.must(err)
			pass(time.Hour)
			want(t, "fired", len(p.fired()), 1)
		})
	})
	t.Run("no definition", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			p.crash()
			p = w.serve(func(o *node.Options) { o.Workflows = noWorkflows{w.db} })
			pass(40 * time.Minute)
			s := p.schedule()
			want(t, "session", s.Times.Session.Format("15:04"), "00:00")
			want(t, "next try", s.Times.Run.Format("15:04"), "01:30")
		})
	})
	t.Run("store away", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			w.intercept(func(call string, _ bool) error {
				if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < 45*time.Minute {
					return host.ErrUnavailable
				}
				return nil
			})
			pass(46 * time.Minute)
			want(t, "fired", p.fired(), []string{"01T00:00:00 at 01T00:45:00.000"})
		})
	})
}

// TestManyAtOnce proves that schedules that are due in the same second all fire in that second.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) { o.Limits.Attempts = 1000 })
		var files []string
		for i := range 100 {
			files = append(files, fmt.Sprintf("w%02d.dig", i), scheduled("hourly>: '30:00'"))
		}
		p.push(files...)
		pass(30 * time.Minute)
		got := p.fired()
		want(t, "number", len(got), 100)
		for _, f := range got {
			want(t, "fired", f, "01T00:00:00 at 01T00:30:00.000")
		}
		want(t, "stats", p.Stats().SchedulesFired, int64(100))
	})
}

// TestSettles proves that a new schedule waits a second before it catches up, so that the user who pushed it sees it as
// pushed.
func TestSettles(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		pass(10 * time.Hour)
		p.pushFrom(time.Now().Add(-3*time.Hour), scheduled("hourly>: '30:00'"), false)
		pass(900 * time.Millisecond)
		want(t, "at first", len(p.fired()), 0)
		pass(200 * time.Millisecond)
		want(t, "then", p.fired(), []string{"01T07:00:00 at 01T10:00:01.000", "01T08:00:00 at 01T10:00:01.000", "01T09:00:00 at 01T10:00:01.000"})
	})
}

// TestScheduleParams checks the parameters of a schedule's attempt.
func TestScheduleParams(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var told []string
		w.on("a", func(_ context.Context, o *operators.Task) (operators.Result, error) {
			executed, err := o.Params.StringOr("last_executed_session_time", "")
			w.must(err)
			last, err := o.Params.String("last_session_time")
			w.must(err)
			told = append(told, strings.TrimPrefix(last, "2000-01-01T")+" "+strings.TrimPrefix(executed, "2000-01-01T"))
			return operators.Result{}, nil
		})
		p := w.serve()
		p.push("main.dig", scheduled("hourly>: '30:00'"))
		pass(3 * time.Hour)
		want(t, "told", told, []string{"1999-12-31T23:00:00+00:00 ", "00:00:00+00:00 00:00:00+00:00", "01:00:00+00:00 01:00:00+00:00"})
	})
}
