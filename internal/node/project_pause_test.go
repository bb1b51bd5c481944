package node_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/catalogue"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// hold pauses the project of workflow "main", and release lets it continue.
func (p *process) hold() {
	p.w.t.Helper()
	_, err := p.PauseProject(p.w.t.Context(), 0, p.workflow("main").Project.ID, "anna", "the warehouse is down")
	p.w.must(err)
}

func (p *process) release() {
	p.w.t.Helper()
	_, err := p.UnpauseProject(p.w.t.Context(), 0, p.workflow("main").Project.ID)
	p.w.must(err)
}

// TestProjectPause proves that nothing in a paused project starts and that callers get the reason; that existing
// attempts continue, a repeated start gets its usual response, other projects start, and the user who paused it first
// stays on record.
func TestProjectPause(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Hour))
		p := w.serve()
		project := p.push("main.dig", "+a: {work>: a}\n+b: {work>: b}\n")
		running := p.start(1)
		p.hold()
		again, err := p.PauseProject(t.Context(), 0, project.ID, "bob", "me too")
		w.must(err)
		want(t, "who has paused it", again.Paused, host.Pause{By: "anna", Reason: "the warehouse is down", At: w.now().UTC()})
		request := catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(2, 0), Params: param.New()}
		refused := func(what string, err error) {
			t.Helper()
			const text = "Project p has been paused since 2000-01-01T00:00:00Z by anna (the warehouse is down): none of its workflows start until `zerodag project unpause p`"
			var user *host.Error
			if !errors.As(err, &user) || user.Code != host.Invalid || user.Message != text || !errors.Is(err, host.ErrPaused) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = p.Start(t.Context(), request)
		refused("a start", err)
		_, err = p.PlanRerun(t.Context(), running, catalogue.RerunRequest{Mode: "all"})
		refused("the plan of a retry", err)
		_, err = p.fill(func(r *catalogue.FillRequest) { r.Every = "1d" })
		refused("a backfill", err)
		request.SessionTime = time.Unix(1, 0)
		_, err = p.Start(t.Context(), request)
		var user *host.Error
		if !errors.As(err, &user) || user.Existing == nil || user.Existing.ID != running.ID {
			t.Errorf("a start that is repeated: %v", err)
		}
		_, err = p.Push(t.Context(), catalogue.PushRequest{Project: "other", Revision: "r"}, archive("other.dig", "+a: {work>: b}\n"), 1)
		w.must(err)
		other, err := p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("other").ID, SessionTime: time.Unix(1, 0), Params: param.New()})
		w.must(err)
		want(t, "another project", p.end(other), "success")
		want(t, "what ran already", p.end(running), "success")
		p.push("main.dig", "+b: {work>: b}\n")
		request.Workflow, request.SessionTime = p.workflow("main").ID, time.Unix(2, 0)
		_, err = p.Start(t.Context(), request)
		refused("a start after a push", err)
		p.release()
		started, err := p.Start(t.Context(), request)
		w.must(err)
		want(t, "released", p.end(started), "success")
		_, err = p.PauseProject(t.Context(), 0, project.ID, "anna", strings.Repeat("ü", names.MostReason+1))
		want(t, "code of a long reason", code(err), host.Invalid)
		_, err = p.PauseProject(t.Context(), 5, project.ID, "anna", "")
		want(t, "code for another site", code(err), host.Missing)
		_, err = p.DeleteProject(t.Context(), 0, project.ID)
		w.must(err)
		_, err = p.PauseProject(t.Context(), 0, project.ID, "anna", "")
		want(t, "code of a deleted one", code(err), host.Missing)
	})
}

// TestProjectPauseSchedule checks which sessions of a schedule run if its project is paused from 00:15 to 03:20:25: due
// sessions are held, even across a crash, and skipped only if the file declares them too late.
func TestProjectPauseSchedule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule string
		want     []string
	}{
		"held":  {"hourly>: '30:00'", []string{"01T00:00:00 at 01T03:20:25.000", "01T01:00:00 at 01T03:20:25.000", "01T02:00:00 at 01T03:20:25.000", "01T03:00:00 at 01T03:30:00.000"}},
		"daily": {"daily>: '02:00:00'", []string{"01T00:00:00 at 01T03:20:25.000"}},
		"too late after a while": {"hourly>: '30:00'\nskip_delayed_by: 100m", []string{"01T02:00:00 at 01T03:20:25.000",
			"01T03:00:00 at 01T03:30:00.000"}},
		"too late for a moment":           {"hourly>: '30:00'\nskip_delayed_by: 50m 10s", []string{"01T03:00:00 at 01T03:30:00.000"}},
		"late, but for a moment":          {"hourly>: '30:00'\nskip_delayed_by: 50m 30s", []string{"01T02:00:00 at 01T03:20:25.000", "01T03:00:00 at 01T03:30:00.000"}},
		"latest":                          {"hourly>: '30:00'\ncatch_up: latest", []string{"01T02:00:00 at 01T03:20:25.000", "01T03:00:00 at 01T03:30:00.000"}},
		"none, and too late for a moment": {"hourly>: '30:00'\ncatch_up: none\nskip_delayed_by: 50m 10s", []string{"01T03:00:00 at 01T03:30:00.000"}},
		"none":                            {"hourly>: '30:00'\ncatch_up: none", []string{"01T03:00:00 at 01T03:30:00.000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serve()
				p.push("main.dig", gated(c.schedule))
				pass(15 * time.Minute)
				p.hold()
				pass(time.Hour)
				p.crash()
				p = w.serve()
				pass(2*time.Hour + 5*time.Minute + 25*time.Second)
				p.release()
				pass(20 * time.Minute)
				want(t, "fired", p.fired(), c.want)
			})
		})
	}
}

// TestProjectPausePush proves that a push while the project is paused loses no held session, whether or not its
// schedule has run before.
func TestProjectPausePush(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"has run": 75 * time.Minute, "never ran": 15 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serve()
				p.push("main.dig", scheduled("hourly>: '30:00'"))
				pass(before)
				ran := len(p.fired())
				p.hold()
				pass(2 * time.Hour)
				for range 2 {
					p.push("main.dig", scheduled("hourly>: '30:00'"), "more.dig", "+a: {work>: a}\n")
					pass(20 * time.Minute)
				}
				p.release()
				pass(10 * time.Minute)
				var sessions []string
				for _, f := range p.fired()[ran:] {
					sessions = append(sessions, f[3:8])
				}
				first := p.fired()[0][3:8]
				want(t, "first session", first, "00:00")
				want(t, "sessions after the pause", sessions, []string{"00:00", "01:00", "02:00", "03:00"}[ran:ran+3])
			})
		})
	}
}

// TestProjectPauseBackfills proves that backfills of both kinds begin no session while the project is paused, and
// continue automatically after it.
func TestProjectPauseBackfills(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(p *process){
		"one thing": func(p *process) { p.filled(nil) },
		"a chain":   func(p *process) { p.backfill(6) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				s := &shift{}
				w.on("a", s.work(time.Hour))
				p := w.serve()
				p.push("main.dig", daily)
				fill(p)
				pass(90 * time.Minute)
				p.hold()
				pass(3 * time.Hour)
				want(t, "days before", s.days, []string{"11-01", "11-02"})
				p.release()
				pass(4*time.Hour + 10*time.Minute)
				want(t, "days in all", s.days, []string{"11-01", "11-02", "11-03", "11-04", "11-05", "11-06"})
				want(t, "at once", s.most, 1)
			})
		})
	}
}

// TestProjectPauseOthers proves that a `require>` in another project, and a start requested by an event, wait for the
// end of a pause, and that `require>` finds sessions that have already run.
func TestProjectPauseOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "+a: {work>: a}\n")
		p.end(p.start(1))
		_, err := p.Push(t.Context(), catalogue.PushRequest{Project: "other", Revision: "r"}, archive("other.dig", "+a: {require>: main, project_name: p}\n+b: {work>: b}\n"), 1)
		w.must(err)
		p.hold()
		require := func(session int64) host.Attempt {
			a, err := p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("other").ID, SessionTime: time.Unix(session, 0), Params: param.New()})
			w.must(err)
			return a
		}
		want(t, "requires what has run", p.end(require(1)), "success")
		waits := require(2)
		w.must(p.StartByEvent(t.Context(), events.StartDetail{ID: "e", Time: time.Unix(3, 0), Project: "p", Workflow: "main"}, false))
		pass(5 * time.Hour)
		want(t, "waits", p.row(waits).Done, false)
		sessions := func() (list []int64) {
			attempts, err := p.Attempts(t.Context(), host.AttemptQuery{Project: p.workflow("main").Project.ID, Workflow: "main"})
			w.must(err)
			for _, a := range attempts {
				list = append(list, a.SessionTime.Unix())
			}
			// Either of the two waiting tasks may start first.
			slices.Sort(list)
			return list
		}
		want(t, "sessions while it is paused", sessions(), []int64{1})
		p.release()
		want(t, "requires", p.end(waits), "success")
		pass(15 * time.Minute)
		want(t, "sessions", sessions(), []int64{1, 2, 3})
		want(t, "dead letters", strings.Contains(w.said(), "dead letter"), false)
	})
}
