package stack_test

import (
	"testing"
	"time"
)

// late is the delay after which a schedule has certainly not fired in time, even on the slowest machine.
const late = 30 * time.Second

// TestSchedule checks that a schedule that is due every minute fires once a minute, without anything running in
// between, and prints its delays.
func TestSchedule(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	_, err := a.Push(t.Context(), a.name, map[string]string{"wf.dig": "timezone: UTC\nschedule:\n  cron>: '* * * * *'\n+a:\n  echo>: x\n"})
	a.must(err)
	const enough = 2
	for end := time.Now().Add((enough+1)*time.Minute + late); ; time.Sleep(time.Second) {
		var page struct {
			Attempts []struct{ SessionTime, CreatedAt time.Time }
		}
		a.must(a.Get(t.Context(), "/api/attempts?include_retried=true&project="+a.name, &page))
		seen := map[time.Time]bool{}
		for _, x := range page.Attempts {
			if seen[x.SessionTime] {
				t.Fatalf("session %v has two attempts", x.SessionTime)
			}
			seen[x.SessionTime] = true
		}
		if len(page.Attempts) < enough && time.Now().Before(end) {
			continue
		}
		if len(page.Attempts) < enough {
			t.Fatalf("%d attempts after %d minutes", len(page.Attempts), enough+1)
		}
		for _, x := range page.Attempts[:1] { // the first one may have been due when it was pushed
			after := x.CreatedAt.Sub(x.SessionTime)
			t.Logf("fired %v after its time", after)
			if after > late {
				t.Errorf("session %v began %v late", x.SessionTime, after)
			}
		}
		break
	}
	a.must(a.disable())
}

// disable ends the schedule, so that nothing is left in the queue.
func (a account) disable() error {
	var project struct{ ID string }
	if err := a.Get(a.t.Context(), "/api/project?name="+a.name, &project); err != nil {
		return err
	}
	var own struct{ Schedules []struct{ ID string } }
	if err := a.Get(a.t.Context(), "/api/projects/"+project.ID+"/schedules", &own); err != nil {
		return err
	}
	for _, s := range own.Schedules {
		if err := a.Post(a.t.Context(), "/api/schedules/"+s.ID+"/disable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}
