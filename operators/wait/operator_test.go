package wait_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/wait"
)

func TestWait(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: wait.Operator(),
		Good:     `{"_command": "1h", "poll_interval": "10s", "blocking": false}`,
		Slow:     `{"_command": "1h", "blocking": true}`,
		Wrong: []string{
			`{}`, `{"_command": "1 second"}`, `{"_command": 1}`, `{"_command": "1s", "blocking": "x"}`,
			`{"_command": "1s", "blocking": true, "poll_interval": "1s"}`, `{"_command": "1s", "poll_interval": "x"}`,
		},
	})
}

func TestPolls(t *testing.T) {
	t.Parallel()
	at := func(passed time.Duration) string { return param.Text(operatortest.Now.Add(-passed).UnixMilli()) }
	for name, c := range map[string]struct {
		params, state string
		after         time.Duration // -1: it has ended
		set           time.Duration // the clock: the time since the process began
	}{
		"begins":              {`{"_command": "1m 30s"}`, `{}`, 90 * time.Second, 0},
		"begins with nothing": {`{"_command": "0s"}`, `{}`, time.Second, 0},
		"goes on":             {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(50*time.Second) + `}`, 10 * time.Second, 0},
		"nearly over":         {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(59900*time.Millisecond) + `}`, time.Second, 0},
		"own interval":        {`{"_command": "60s", "poll_interval": "5s"}`, `{}`, 5 * time.Second, 0},
		"clock set back":      {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(-time.Hour) + `, "wait_passed_millis": 60000}`, -1, 0},
		"set back, polls":     {`{"_command": "60s", "poll_interval": "5s"}`, `{"wait_start_time_millis": ` + at(-time.Hour) + `, "wait_passed_millis": 55000}`, 5 * time.Second, 0},
		"over":                {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(time.Minute) + `}`, -1, 0},
		"begins, set":         {`{"_command": "60s"}`, `{}`, time.Minute, time.Hour},
		"set forward":         {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(50*time.Second) + `, "wait_passed_millis": 5000}`, 10 * time.Second, time.Hour},
		"set forward, over":   {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(time.Minute) + `, "wait_passed_millis": 5000}`, -1, time.Hour},
		"set back, goes on":   {`{"_command": "60s"}`, `{"wait_start_time_millis": ` + at(50*time.Second) + `, "wait_passed_millis": 5000}`, 10 * time.Second, -time.Hour},
	} {
		w := operatortest.New(t, c.params)
		w.State = operatortest.Map(t, c.state)
		if c.set != 0 {
			w.Steady, w.Now = w.Now, w.Now.Add(c.set)
		}
		_, err := wait.Operator().Run(t.Context(), &w.Task)
		var later *operators.Later
		switch {
		case errors.As(err, &later):
			if later.After != c.after || !later.State.Has("wait_start_time_millis") {
				t.Errorf("%s: got %v with %s, want %v", name, later.After, param.Text(later.State), c.after)
			}
		case err != nil || c.after != -1:
			t.Errorf("%s: got %v, want a poll after %v", name, err, c.after)
		}
	}
}

func TestBlockingReallyWaits(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	got := operatortest.RunOnce(t, wait.Operator(), operatortest.New(t, `{"_command": "1s", "blocking": "true"}`))
	if diff := cmp.Diff(operatortest.Ended{}, got); diff != "" {
		t.Error(diff)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it took only %v", took)
	}
}
