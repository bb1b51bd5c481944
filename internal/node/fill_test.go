package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/node"
	"zerodag/operators"
)

// shift is work that records which sessions ran, in order, and how many ran at once.
type shift struct {
	mu        sync.Mutex
	now, most int
	days      []string
	fails     map[int]bool
}

func (s *shift) work(d time.Duration) work {
	return func(ctx context.Context, o *operators.Task) (operators.Result, error) {
		s.mu.Lock()
		s.now++
		s.most = max(s.most, s.now)
		s.days = append(s.days, o.SessionTime.Format("01-02"))
		fails := s.fails[o.SessionTime.Day()]
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.now--
			s.mu.Unlock()
		}()
		if r, err := lasting(d)(ctx, o); err != nil || !fails {
			return r, err
		}
		return operators.Result{}, operators.Failf("no")
	}
}

// fill requests a backfill of November 1999; the bubble begins with 2000.
func (p *process) fill(edit func(*catalogue.FillRequest)) (host.Backfill, error) {
	r := catalogue.FillRequest{Workflow: p.workflow("main").ID, Name: "b", From: "1999-11-01", To: "1999-11-06"}
	if edit != nil {
		edit(&r)
	}
	return p.StartFill(p.w.t.Context(), r)
}

func (p *process) filled(edit func(*catalogue.FillRequest)) host.Backfill {
	p.w.t.Helper()
	b, err := p.fill(edit)
	p.w.must(err)
	return b
}

func (p *process) backfillNow(b host.Backfill) host.Backfill {
	p.w.t.Helper()
	b, err := p.OneBackfill(p.w.t.Context(), 0, b.ID)
	p.w.must(err)
	return b
}

// fillEnds waits for the end of a backfill and returns its outcome.
func (p *process) fillEnds(b host.Backfill) string {
	p.w.t.Helper()
	for range 4 * 24 * 60 {
		if b = p.backfillNow(b); !b.FinishedAt.IsZero() {
			pass(0)
			return fmt.Sprintf("%s: %d succeeded, %d failed, %d skipped", b.Status(), b.State.Succeeded, b.State.Failed, b.State.LeftOut)
		}
		pass(time.Minute)
	}
	p.w.t.Fatalf("backfill %d does not end: %+v\n%s", b.ID, b.State, p.w.said())
	return ""
}

// TestFill proves that a backfill runs as many sessions at once as it may, that each end lets the next session begin,
// and that each session has the right parameters.
func TestFill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := &shift{fails: map[int]bool{2: true}}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel, r.Params = 2, param.New("x", "y") })
		want(t, "at first", []any{b.Status(), len(b.State.Running), b.Left()}, []any{"running", 2, 4})
		want(t, "the end", p.fillEnds(b), "error: 5 succeeded, 1 failed, 0 skipped")
		want(t, "at once", s.most, 2)
		days := slices.Clone(s.days)
		slices.Sort(days)
		want(t, "days", days, []string{"11-01", "11-02", "11-03", "11-04", "11-05", "11-06"})
		want(t, "it took", p.backfillNow(b).FinishedAt.Sub(b.CreatedAt).Round(time.Minute), 3*time.Hour)
		list, err := p.Attempts(t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		for _, a := range list {
			last, _ := a.Params.Get("last_executed_session_time")
			before := any(a.SessionTime.AddDate(0, 0, -1).Format("2006-01-02T15:04:05") + "+00:00")
			if a.SessionTime.Day() == 1 {
				before = nil
			}
			given, _ := a.Params.Get("x")
			want(t, "told and given", []any{last, given, a.RetryName}, []any{before, "y", b.AttemptName()})
		}
		want(t, "failed", len(p.backfillNow(b).State.FailedAttempts), 1)
		_, err = p.KillBackfill(t.Context(), 0, b.ID)
		want(t, "code of killing one that is over", code(err), host.Conflict)
	})
}

// TestFillOrder proves that sessions begin one after the other, latest first if requested, and that a repeated request
// adds none.
func TestFillOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		ask := func(r *catalogue.FillRequest) { r.Order, r.Count = "desc", 3 }
		b := p.filled(ask)
		want(t, "asked again", p.filled(ask).ID, b.ID)
		_, err := p.fill(func(r *catalogue.FillRequest) { r.Order = "asc" })
		want(t, "code of another one of that name", code(err), host.Conflict)
		want(t, "the end", p.fillEnds(b), "success: 3 succeeded, 0 failed, 0 skipped")
		want(t, "days", s.days, []string{"11-03", "11-02", "11-01"})
		want(t, "asked again when it is over", p.filled(ask).FinishedAt.IsZero(), false)
	})
}

// TestFillHeld proves that a held backfill begins no more sessions, and continues when it is released.
func TestFillHeld(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel = 2 })
		pass(30 * time.Minute)
		_, err := p.HoldBackfill(t.Context(), 0, b.ID, true)
		w.must(err)
		pass(10 * time.Hour)
		b = p.backfillNow(b)
		slices.Sort(s.days)
		want(t, "held", []any{b.Status(), s.days, len(b.State.Running), b.Left()}, []any{"held", []string{"11-01", "11-02"}, 0, 4})
		b, err = p.HoldBackfill(t.Context(), 0, b.ID, false)
		w.must(err)
		want(t, "released", len(b.State.Running), 2)
		want(t, "the end", p.fillEnds(b), "success: 6 succeeded, 0 failed, 0 skipped")
	})
}

// TestFillKilled proves that a backfill is killed as a whole, even while a process is about to start its sessions.
func TestFillKilled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel = 2 })
		pass(30 * time.Minute)
		b, err := p.KillBackfill(t.Context(), 0, b.ID)
		w.must(err)
		want(t, "the end", p.fillEnds(b), "killed: 0 succeeded, 2 failed, 0 skipped")
		want(t, "sessions that began", len(s.days), 2)
		want(t, "not begun", len(b.Plan.Sessions)-b.State.Begun, 4)
	})
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		var late *lateStarts
		slow := w.serveParts(node.New(func() node.Options {
			o := w.options()
			late = &lateStarts{o.Attempts, make(chan struct{})}
			o.Attempts = late
			return o
		}()), node.Parts{})
		made := make(chan host.Backfill)
		go func() {
			b, err := slow.StartFill(t.Context(), catalogue.FillRequest{Workflow: p.workflow("main").ID, Name: "b", From: "1999-11-01", Parallel: 2})
			w.must(err)
			made <- b
		}()
		pass(time.Minute)
		list, err := p.Backfills(t.Context(), host.BackfillQuery{})
		w.must(err)
		_, err = p.KillBackfill(t.Context(), 0, list[0].ID)
		w.must(err)
		close(late.may)
		<-made
		want(t, "the end", p.fillEnds(list[0]), "killed: 0 succeeded, 2 failed, 0 skipped")
		want(t, "unfinished attempts", w.active(), 0)
	})
}

// TestFillOverAtOnce proves that a backfill whose attempts have ended before their starter can record them is returned
// as stored, and that none of its sessions is still recorded as running.
func TestFillOverAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Second))
		p := w.serve(func(o *node.Options) { o.Attempts = slowAnswers{o.Attempts} })
		p.push("main.dig", daily)
		pass(time.Second) // the first check of backfills would otherwise sometimes begin this one before its starter
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel, r.Count = 2, 2 })
		want(t, "told", []any{b.Status(), b.State.Succeeded, b.State.Running}, []any{"success", 2, []host.BackfillRun(nil)})
		want(t, "stored", p.backfillNow(b).State, b.State)
	})
}

// slowAnswers reports started attempts only a minute later.
type slowAnswers struct{ host.Attempts }

func (s slowAnswers) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	started, err := s.Attempts.Start(ctx, list...)
	time.Sleep(time.Minute)
	return started, err
}

// lateStarts delays starts until they are allowed.
type lateStarts struct {
	host.Attempts
	may chan struct{}
}

func (l *lateStarts) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	<-l.may
	return l.Attempts.Start(ctx, list...)
}

func (w *world) active() int {
	n, err := w.db.CountActive(w.t.Context(), 0, 0)
	w.must(err)
	return n
}

// TestFillExisting checks the treatment of existing sessions.
func TestFillExisting(t *testing.T) {
	t.Parallel()
	for existing, c := range map[string]struct{ end, plan string }{
		"":      {"success: 6 succeeded, 0 failed, 0 skipped", "new run new run new new"},
		"skip":  {"success: 4 succeeded, 0 failed, 2 skipped", "new out new out new new"},
		"retry": {"success: 5 succeeded, 0 failed, 1 skipped", "new run new out new new"},
		"error": {"Workflow main already has these sessions: 1999-11-02T00:00:00Z, 1999-11-04T00:00:00Z. `existing: skip` omits them, `existing: retry` runs them again", ""},
	} {
		t.Run("existing "+existing, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(time.Hour))
				p := w.serve()
				p.push("main.dig", daily)
				day := func(n int) int64 { return time.Date(1999, 11, n, 0, 0, 0, 0, time.UTC).Unix() }
				p.end(p.start(day(2)))
				p.start(day(4))
				ask := func(r *catalogue.FillRequest) { r.Existing, r.Parallel = existing, 6 }
				r := catalogue.FillRequest{Workflow: p.workflow("main").ID, Name: "b", From: "1999-11-01", To: "1999-11-06"}
				ask(&r)
				plan, err := p.PlanFill(t.Context(), r)
				if existing == "error" {
					want(t, "plan", fmt.Sprint(err), c.end)
					_, err := p.fill(ask)
					want(t, "error", fmt.Sprint(err), c.end)
					want(t, "code", code(err), host.Conflict)
					return
				}
				w.must(err)
				var words []string
				for _, s := range plan.Sessions {
					switch {
					case s.LeftOut:
						words = append(words, "out")
					case s.Last != nil:
						words = append(words, "run")
					default:
						words = append(words, "new")
					}
				}
				want(t, "plan", strings.Join(words, " "), c.plan)
				want(t, "the end", p.fillEnds(p.filled(ask)), c.end)
			})
		})
	}
}

// TestFillTwice proves that two backfills that skip existing sessions run no session twice, and that the error of one
// that requires new sessions does not name its own sessions.
func TestFillTwice(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", s.work(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		both := []host.Backfill{
			p.filled(func(r *catalogue.FillRequest) { r.Existing, r.Parallel = "skip", 2 }),
			p.filled(func(r *catalogue.FillRequest) { r.Existing, r.Parallel, r.Name, r.Order = "skip", 2, "c", "desc" }),
		}
		sum := 0
		for _, b := range both {
			p.fillEnds(b)
			b = p.backfillNow(b)
			sum += b.State.Succeeded
			want(t, "all are accounted for", b.State.Succeeded+b.State.LeftOut, 6)
		}
		want(t, "sessions that ran", []int{sum, len(s.days)}, []int{6, 6})
		fresh := func(r *catalogue.FillRequest) {
			r.Existing, r.Name, r.From, r.To = "error", "d", "1999-12-01", "1999-12-02"
		}
		b := p.filled(fresh)
		want(t, "asked again", p.filled(fresh).ID, b.ID)
	})
}

// TestFillWaits proves that a backfill waits while the site has reached its limit of attempts, and stops when no
// attempt can start anymore. No two attempts end at the same moment: the site's attempts are counted before a start, so
// two simultaneous starts may both take the last free place.
func TestFillWaits(t *testing.T) {
	t.Parallel()
	apart := func(w work) work {
		return func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			if r, err := lasting(time.Duration(o.SessionTime.Day())*7*time.Second)(ctx, o); err != nil {
				return r, err
			}
			return w(ctx, o)
		}
	}
	inBubble(t, func(w *world) {
		s := &shift{}
		w.on("a", apart(s.work(time.Hour)))
		p := w.serve(func(o *node.Options) { o.Limits.Attempts = 2 })
		p.push("main.dig", daily)
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel = 5 })
		want(t, "the end", p.fillEnds(b), "success: 6 succeeded, 0 failed, 0 skipped")
		want(t, "at once", s.most, 2)
	})
	inBubble(t, func(w *world) {
		w.on("a", apart(lasting(time.Hour)))
		p := w.serve()
		project := p.push("main.dig", daily)
		b := p.filled(func(r *catalogue.FillRequest) { r.Parallel = 2 })
		pass(time.Minute)
		_, err := p.DeleteProject(t.Context(), 0, project.ID)
		w.must(err)
		want(t, "the end", p.fillEnds(b), "error: 2 succeeded, 0 failed, 1 skipped")
		want(t, "why", strings.HasPrefix(p.backfillNow(b).State.Why, "Project id=1 is already deleted at "), true)
	})
}

// TestFillCrashes crashes the server repeatedly, while one call in five fails or gets no response: each session runs,
// and never more at once than allowed.
func TestFillCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(3*time.Minute))
				faulty := faults.New(seed, faults.Rates{Refuse: .1, LoseAnswer: .1})
				limits := func(o *node.Options) {
					o.Limits = host.Limits{ReapInterval: time.Minute, Crashes: -1}
					life := faulty.Process()
					o.Backfills, o.Attempts = life.Backfills(w.db), life.Attempts(w.db)
				}
				p := w.serve()
				p.push("main.dig", daily)
				b := p.filled(func(r *catalogue.FillRequest) { r.Parallel, r.From, r.To = 3, "1999-11-01", "1999-11-20" })
				p.crash()
				for i := range 12 {
					q := w.serve(limits)
					pass(time.Duration(i*41%200) * time.Second)
					want(t, "no more at once than may", w.active() <= 3, true)
					q.crash()
				}
				faulty.Heal()
				q := w.serve(limits)
				q.fillEnds(b)
				b = q.backfillNow(b) // a task that is lost three times fails
				want(t, "the end", []int{b.State.Succeeded + b.State.Failed, b.State.LeftOut, len(b.State.Running)}, []int{20, 0, 0})
				list, err := q.Attempts(t.Context(), host.AttemptQuery{Retried: true})
				w.must(err)
				want(t, "attempts", len(list), 20)
			})
		})
	}
}

// TestFillTimes checks which sessions a backfill covers.
func TestFillTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("daily.dig", "timezone: Europe/Berlin\nschedule:\n  daily>: '07:00:00'\n+a:\n  work>: a\n",
			"hourly.dig", "timezone: UTC\nschedule:\n  hourly>: '05:00'\n+a:\n  work>: a\n", "late.dig", "timezone: UTC\nschedule:\n  daily>: '49:00:00'\n+a:\n  work>: a\n", "early.dig", "timezone: UTC\nschedule:\n  daily>: '-01:00:00'\n+a:\n  work>: a\n", "none.dig", "timezone: Europe/Berlin\n+a:\n  work>: a\n")
		type request = catalogue.FillRequest
		for name, c := range map[string]struct {
			workflow string
			r        request
			want     string
		}{
			"a range":               {"daily", request{From: "1999-12-01", To: "1999-12-03"}, "1999-12-01T00:00:00+01:00 1999-12-02T00:00:00+01:00 1999-12-03T00:00:00+01:00"},
			"up to a time":          {"hourly", request{From: "1999-12-01T01:00:00Z", To: "1999-12-01 03:00:00"}, "1999-12-01T01:00:00Z 1999-12-01T02:00:00Z 1999-12-01T03:00:00Z"},
			"up to now":             {"daily", request{From: "1999-12-30"}, "1999-12-30T00:00:00+01:00 1999-12-31T00:00:00+01:00"},
			"a count":               {"hourly", request{From: "1999-12-01", Count: 2}, "1999-12-01T00:00:00Z 1999-12-01T01:00:00Z"},
			"days of a schedule":    {"daily", request{Dates: []string{"1999-12-05", "1999-12-01", "1999-12-05"}}, "1999-12-01T00:00:00+01:00 1999-12-05T00:00:00+01:00"},
			"a time of a schedule":  {"hourly", request{Dates: []string{"1999-12-05T03:00:00"}}, "1999-12-05T03:00:00Z"},
			"started long after":    {"late", request{From: "1999-12-01", To: "1999-12-02"}, "1999-12-01T00:00:00Z 1999-12-02T00:00:00Z"},
			"started before":        {"early", request{Dates: []string{"1999-12-02", "1999-12-01"}}, "1999-12-01T00:00:00Z 1999-12-02T00:00:00Z"},
			"not of the schedule":   {"hourly", request{Dates: []string{"1999-12-05T03:30:00"}}, "The schedule has no session 1999-12-05T03:30:00: the next session is 1999-12-05T04:00:00Z"},
			"days of no schedule":   {"none", request{Dates: []string{"1999-12-05", "1999-12-01T12:00:00"}}, "1999-12-01T12:00:00+01:00 1999-12-05T00:00:00+01:00"},
			"every day":             {"none", request{From: "1999-10-30", To: "1999-11-01", Every: "1d"}, "1999-10-30T00:00:00+02:00 1999-10-31T00:00:00+02:00 1999-11-01T00:00:00+01:00"},
			"every few hours":       {"none", request{From: "1999-10-30T20:00:00", To: "1999-10-31", Every: "12h"}, "1999-10-30T20:00:00+02:00 1999-10-31T07:00:00+01:00 1999-10-31T19:00:00+01:00"},
			"every, with schedule":  {"daily", request{From: "1999-12-01", To: "1999-12-10", Every: "1w"}, "1999-12-01T00:00:00+01:00 1999-12-08T00:00:00+01:00"},
			"no schedule":           {"none", request{From: "1999-12-01", To: "1999-12-10"}, "Workflow none has no schedule: set `every` to the interval between sessions (1d, 12h), or list the sessions in `dates`"},
			"no end":                {"none", request{From: "1999-12-01", Every: "1d"}, "Workflow none has no schedule: set `to` to the time of the last session"},
			"no beginning":          {"none", request{}, "from or dates is required"},
			"both":                  {"none", request{From: "1999-12-01", Dates: []string{"1999-12-01"}}, "dates cannot be combined with from, to and every"},
			"what the schedule has": {"daily", request{From: "1999-12-01", To: "2000-02-01"}, "The schedule itself starts the sessions from 2000-01-01T00:00:00+01:00 onward: end before that"},
			"nothing":               {"daily", request{From: "1999-12-02", To: "1999-12-01"}, "There are no sessions in that time"},
			"too large a count":     {"daily", request{From: "1999-12-30", Count: 3}, "count is set to 3 but there are only 2 sessions"},
			"too many":              {"hourly", request{From: "1990-01-01"}, "there are more than 10000 sessions: choose an earlier end, and start another backfill for the rest"},
			"no time":               {"daily", request{From: "yesterday"}, `"yesterday" is not a time: use 2026-01-31, 2026-01-31T07:00:00 or 2026-01-31T07:00:00Z`},
			"no step":               {"none", request{From: "1999-12-01", To: "1999-12-10", Every: "day"}, `every is "day": use a number and m, h, d or w (30m, 12h, 1d, 1w)`},
			"parallel":              {"daily", request{From: "1999-12-01", Parallel: 101}, "parallel is 101: a backfill runs 1 to 100 sessions at once"},
			"order":                 {"daily", request{From: "1999-12-01", Order: "up"}, `unknown order "up": use asc or desc`},
			"existing":              {"daily", request{From: "1999-12-01", Existing: "leave"}, `existing is "leave": use error, skip or retry`},
			"priority":              {"daily", request{From: "1999-12-01", Priority: "urgent"}, `unknown priority "urgent": use highest, high, normal, low or lowest`},
			"parameters":            {"daily", request{From: "1999-12-01", Params: param.New("x", strings.Repeat("x", 70_000))}, "The parameters of a backfill take up 70008 bytes, but at most 65536 are allowed: store the data where tasks can read it"},
		} {
			c.r.Workflow, c.r.Name = p.workflow(c.workflow).ID, "b"
			plan, err := p.PlanFill(t.Context(), c.r)
			if err != nil {
				want(t, name, err.Error(), c.want)
				continue
			}
			zone, err := time.LoadLocation(plan.Workflow.Zone)
			w.must(err)
			var times []string
			for _, s := range plan.Sessions {
				times = append(times, s.Time.In(zone).Format(time.RFC3339))
			}
			want(t, name, strings.Join(times, " "), c.want)
		}
	})
}
