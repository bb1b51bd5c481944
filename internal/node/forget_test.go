package node_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestForget proves that attempts are removed with their logs when their retention ends, and that the last session of a
// workflow, running attempts and recently ended ones stay.
func TestForget(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]time.Duration{"kept for two hours": 2 * time.Hour, "kept for ever": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(time.Minute))
				var mu sync.Mutex
				var cleared []int64
				p := w.serve(func(o *node.Options) {
					o.Limits = host.Limits{KeepAttempts: keep, ReapInterval: 10 * time.Minute}
					o.Retention = w.db
					o.RemoveLogs = func(_ context.Context, list []host.Attempt) error {
						mu.Lock()
						defer mu.Unlock()
						for _, a := range list {
							cleared = append(cleared, a.ID)
						}
						return nil
					}
				})
				p.push("main.dig", "+a: {work>: a}\n")
				left := func() (list []int64) {
					all, err := w.db.Attempts(t.Context(), host.AttemptQuery{Retried: true})
					w.must(err)
					for _, a := range all {
						list = append(list, a.ID)
					}
					slices.Reverse(list)
					return list
				}
				for session := range int64(3) {
					p.start(session)
					pass(time.Hour)
				}
				pass(30 * time.Minute) // old data is checked every hour
				stay := []int64{2, 3}
				if keep == 0 {
					stay = []int64{1, 2, 3}
				}
				want(t, "after three hours", left(), stay)
				pass(7 * time.Hour)
				if keep > 0 {
					stay = []int64{3}
				}
				want(t, "after ten hours", left(), stay)
				mu.Lock()
				defer mu.Unlock()
				want(t, "logs of these were removed", len(cleared), 3-len(stay))
			})
		})
	}
}

// TestForgottenStaysForgotten proves that nothing automatically restarts a removed session, even once attempts are kept
// forever and after the clock was a year ahead: neither `require>`, nor a schedule that was set back, nor a late event.
// A session that never existed is run, however old it is, and so is one that a user requests.
func TestForgottenStaysForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "+a: {work>: a}\n")
		today := time.Now().UTC().Truncate(24 * time.Hour)
		var from host.Attempt
		for n := range 3 {
			from = p.start(today.Add(time.Duration(n+1) * 24 * time.Hour).Unix())
			p.end(from)
		}
		p.crash()
		p = w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepAttempts: 300 * 24 * time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention, o.Now = w.db, func() time.Time { return time.Now().Add(365 * 24 * time.Hour).UTC() }
		})
		pass(2 * time.Hour)
		p.crash()
		all, err := w.db.Attempts(t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		want(t, "attempts that are kept", len(all), 1) // the workflow's last session

		p = w.serve() // forever
		require := func(at time.Time) error {
			_, err := p.Require(t.Context(), from, operators.StartRequest{Workflow: "main", SessionTime: at})
			return err
		}
		want(t, "code of what is required", code(require(today.Add(24*time.Hour))), host.Invalid)
		w.must(require(today.Add(-24 * time.Hour)))
		w.must(p.StartByEvent(t.Context(), events.StartDetail{ID: "e", Time: today.Add(24 * time.Hour), Project: "p", Workflow: "main"}, false))
		pass(time.Hour)
		want(t, "runs", len(w.ran()), 4)
		p.push("main.dig", "schedule:\n  daily>: 00:00:00\n+a: {work>: a}\n")
		pass(5 * 24 * time.Hour)
		want(t, "runs of days 4 and 5", len(w.ran()), 6)
		p.end(p.start(today.Add(24 * time.Hour).Unix()))
		want(t, "runs with one by hand", len(w.ran()), 7)
	})
}

// TestForgetAhead proves that sessions that were run ahead of their time stay until that time: neither `require>` nor a
// schedule runs them again.
func TestForgetAhead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepAttempts: 24 * time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention = w.db
		})
		p.push("main.dig", "schedule:\n  daily>: 00:00:00\n+a: {work>: a}\n")
		today := time.Now().UTC().Truncate(24 * time.Hour)
		day := func(n int) time.Time { return today.Add(time.Duration(n) * 24 * time.Hour) }
		var from host.Attempt
		for n := range 3 {
			from = p.start(day(5 + n).Unix())
			p.end(from)
		}
		pass(3 * 24 * time.Hour)
		r, err := p.Require(t.Context(), from, operators.StartRequest{Workflow: "main", SessionTime: day(5)})
		w.must(err)
		want(t, "required is a new attempt", r.New, false)
		pass(9 * 24 * time.Hour)
		want(t, "runs of at most thirteen days", len(w.ran()) <= 13, true)
	})
}

// TestForgetDisabled proves that sessions that were run by hand while their schedule was disabled stay until the
// schedule has passed them: once enabled again, it skips them.
func TestForgetDisabled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepAttempts: 24 * time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention = w.db
		})
		p.push("main.dig", "schedule:\n  daily>: 00:00:00\n+a: {work>: a}\n")
		pass(time.Hour)
		before := len(w.ran())
		list, err := w.db.Schedules(t.Context(), host.ScheduleQuery{})
		w.must(err)
		_, err = p.Disable(t.Context(), 0, list[0].ID)
		w.must(err)
		for n := range 3 {
			session := list[0].Times.Session.Add(time.Duration(n) * 24 * time.Hour)
			time.Sleep(time.Until(session))
			p.end(p.start(session.Unix()))
		}
		pass(3*24*time.Hour + time.Hour)
		want(t, "runs by hand", len(w.ran())-before, 3)
		_, err = p.Enable(t.Context(), 0, list[0].ID, catalogue.EnableRequest{})
		w.must(err)
		pass(time.Hour)
		want(t, "runs of six days", len(w.ran())-before, 6)
	})
}

// TestForgetKeepsRequired proves that a session that an unfinished attempt waits for with `require>` stays, although
// the deployment is down for longer than attempts are kept: the attempt finds it and does not run it again.
func TestForgetKeepsRequired(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("c", lasting(40*time.Second))
		o := func(o *node.Options) {
			o.Limits = host.Limits{KeepAttempts: time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention = w.db
		}
		p := w.serve(o)
		p.push("main.dig", "+r: {require>: child}\n", "child.dig", "+c: {work>: c}\n")
		now := time.Now().Truncate(time.Second)
		parent := p.start(now.Unix())
		_, err := p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("child").ID, SessionTime: now.Add(time.Hour), Params: param.New()})
		w.must(err)
		pass(time.Second)
		var child host.Attempt
		all, err := w.db.Attempts(t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		for _, x := range all {
			if x.Workflow.Name == "child" && x.SessionTime.Equal(now) {
				child = x
			}
		}
		for !p.row(child).Done {
			pass(100 * time.Millisecond)
		}
		p.crash()
		time.Sleep(3 * time.Hour)
		options := w.options()
		o(&options)
		q := w.serveParts(node.New(options), node.Parts{Executor: true}) // which searches for old data, and runs no tasks
		pass(time.Minute)
		q.crash()
		p = w.serve(o)
		want(t, "status of the parent", p.end(parent), "success")
		children := 0
		for _, r := range w.ran() {
			if strings.HasPrefix(r, "+child") {
				children++
			}
		}
		want(t, "runs of child", children, 2)
	})
}

// TestForgetNegative proves that with a negative retention nothing is removed and no session is refused.
func TestForgetNegative(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepAttempts: -time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention = w.db
		})
		p.push("main.dig", "+a: {work>: a}\n")
		now := time.Now().Truncate(time.Second)
		p.end(p.start(now.Add(-time.Hour).Unix()))
		from := p.start(now.Unix())
		p.end(from)
		pass(2 * time.Hour)
		all, err := w.db.Attempts(t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		want(t, "attempts", len(all), 2)
		_, err = p.Require(t.Context(), from, operators.StartRequest{Workflow: "main", SessionTime: now.Add(-2 * time.Hour)})
		w.must(err)
	})
}
