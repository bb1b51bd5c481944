package node_test

import (
	"errors"
	"testing"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/node"
)

// gated returns a scheduled workflow in `zerodag: 1` mode.
func gated(schedule string) string { return "zerodag: 1\n" + scheduled(schedule) }

// TestCatchUp checks which sessions run after a server was down for four hours, starting at a minute past midnight.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule string
		want     []string
	}{
		"all": {"hourly>: '30:00'\ncatch_up: all", []string{"01T00:00:00 at 01T04:01:00.000", "01T01:00:00 at 01T04:01:00.000",
			"01T02:00:00 at 01T04:01:00.000", "01T03:00:00 at 01T04:01:00.000", "01T04:00:00 at 01T04:30:00.000"}},
		"latest":         {"hourly>: '30:00'\ncatch_up: latest", []string{"01T03:00:00 at 01T04:01:00.000", "01T04:00:00 at 01T04:30:00.000"}},
		"none":           {"hourly>: '30:00'\ncatch_up: none", []string{"01T04:00:00 at 01T04:30:00.000"}},
		"none, just now": {"hourly>: '00:30'\ncatch_up: none", []string{"01T00:00:00 at 01T00:00:30.000", "01T04:00:00 at 01T04:01:00.000"}},
		"within a window": {"hourly>: '30:00'\ncatch_up: none\nskip_delayed_by: 40m", []string{"01T03:00:00 at 01T04:01:00.000",
			"01T04:00:00 at 01T04:30:00.000"}},
		"latest, too late": {"hourly>: '30:00'\ncatch_up: latest\nskip_delayed_by: 20m", []string{"01T04:00:00 at 01T04:30:00.000"}},
		"once": {"once>: [2000-01-01T03:00:00, 2000-01-01T02:00:00, 2000-01-01T04:30:00]", []string{"01T02:00:00 at 01T04:01:00.000",
			"01T03:00:00 at 01T04:01:00.000", "01T04:30:00 at 01T04:30:00.000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				began := time.Now()
				p := w.serve()
				p.push("main.dig", gated(c.schedule))
				pass(time.Minute)
				p.crash()
				time.Sleep(4 * time.Hour)
				p = w.serve()
				pass(5*time.Hour - time.Since(began) - time.Second)
				want(t, "fired", p.fired(), c.want)
			})
		})
	}
}

// TestCatchUpCrash proves that if a server dies at any write while it skips sessions, the session that must run is
// started once.
func TestCatchUpCrash(t *testing.T) {
	t.Parallel()
	for _, catchUp := range []string{"latest", "none"} {
		crashed := 0
		for at := 1; at <= 8; at++ {
			inBubble(t, func(w *world) {
				p := w.serve()
				p.push("main.dig", gated("hourly>: '30:00'\ncatch_up: "+catchUp))
				pass(time.Minute)
				p.crash()
				time.Sleep(3*time.Hour + 30*time.Minute) // the session of 3:00 is a minute late
				p = w.serve(func(o *node.Options) { o.Limits.Attempts = 10 })
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
				pass(time.Minute)
				got := p.fired()
				want(t, "number of attempts", len(got), 1)
				want(t, "session", got[0][:11], "01T03:00:00")
				times := p.schedule().Times
				want(t, "last session", times.Last.Hour(), 3)
				want(t, "next session", times.Session.Hour(), 4)
			})
		}
		if crashed < 4 {
			t.Errorf("it crashed at %d writes only", crashed)
		}
	}
}

// TestSkipIfSuccessful proves that only a manual run takes the place of a session: not the previous session, however
// long it takes, not sessions that are caught up, not a retry, not a failed run, and not a run that ended too early.
func TestSkipIfSuccessful(t *testing.T) {
	t.Parallel()
	const hourly = "cron>: '0 * * * *'\nskip_if_successful: true"
	sessions := func(p *process) (list []string) {
		for _, f := range p.fired() {
			list = append(list, f[3:8])
		}
		return list
	}
	for name, c := range map[string]struct {
		takes time.Duration
		do    func(w *world, p *process)
		want  []string
	}{
		"its own runs": {10 * time.Minute, func(*world, *process) {}, []string{"01:00", "02:00", "03:00"}},
		"long runs":    {90 * time.Minute, func(*world, *process) {}, []string{"01:00", "02:00", "03:00"}},
		"by hand": {10 * time.Minute, func(w *world, p *process) {
			pass(80 * time.Minute)
			p.start(w.now().Unix())
		}, []string{"01:00", "01:20", "03:00"}},
		"by hand, still running": {50 * time.Minute, func(w *world, p *process) {
			pass(80 * time.Minute)
			p.start(w.now().Unix())
		}, []string{"01:00", "01:20", "02:00"}}, // which ended after 3:00 and therefore takes the place of that session
		"by hand, before the session before": {10 * time.Minute, func(w *world, p *process) {
			pass(20 * time.Minute)
			p.start(w.now().Unix())
		}, []string{"00:20", "02:00", "03:00"}},
		"a retry": {10 * time.Minute, func(w *world, p *process) {
			pass(80 * time.Minute)
			p.start(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC).Unix(), func(r *catalogue.StartRequest) { r.RetryName = "again" })
		}, []string{"01:00", "01:00", "02:00", "03:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(c.takes))
				began := time.Now()
				p := w.serve()
				p.push("main.dig", gated(hourly))
				c.do(w, p)
				pass(3*time.Hour + 30*time.Minute - time.Since(began))
				want(t, "sessions", sessions(p), append([]string{"00:00"}, c.want...))
			})
		})
	}
	t.Run("caught up", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", gated(hourly))
			pass(time.Minute)
			p.crash()
			time.Sleep(3 * time.Hour)
			p = w.serve()
			pass(2 * time.Minute)
			want(t, "sessions", sessions(p), []string{"00:00", "01:00", "02:00", "03:00"})
		})
	})
}
