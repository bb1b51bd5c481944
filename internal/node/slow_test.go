package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zerodag/operators"
)

// thrice is work that is polled three times, an hour apart.
func thrice(_ context.Context, t *operators.Task) (operators.Result, error) {
	looks, _ := t.State.Get("looks")
	n, _ := looks.(int64)
	if n == 3 {
		return operators.Result{}, nil
	}
	state := t.State.Clone()
	state.Set("looks", n+1)
	return operators.Result{}, &operators.Later{After: time.Hour, State: state}
}

// TestSlow proves that users are notified once for each attempt at a task and each iteration that takes longer than
// `warn` allows, at that time and with the task's name, that the task continues, and that users are not notified of
// tasks that end earlier.
func TestSlow(t *testing.T) {
	t.Parallel()
	const slow = "Task +main%s is slow: it has run longer than %s"
	of := func(name, limit string, times int) (list []string) {
		for range times {
			list = append(list, fmt.Sprintf(slow, name, limit))
		}
		return list
	}
	for name, c := range map[string]struct {
		text string
		told []string
		end  string
	}{
		"running":         {"+a: {_timeout: {warn: 30m}, work>: hour}", of("+a", "30m", 1), "success"},
		"in time":         {"+a: {_timeout: {warn: 2h}, work>: hour}", nil, "success"},
		"polling":         {"+a: {_timeout: {warn: 90m}, work>: thrice}", of("+a", "1h 30m", 1), "success"},
		"polling in time": {"+a: {_timeout: {warn: 4h}, work>: thrice}", nil, "success"},
		"with bounds":     {"+a: {_timeout: {warn: 90m, try: 5h, total: 1d}, work>: thrice}", of("+a", "1h 30m", 1), "success"},
		"each try":        {"+a: {_timeout: {warn: 30m}, _retry: 1, work>: worse}", append(of("+a", "30m", 2), "Workflow session attempt failed"), "error"},
		"group":           {"+g:\n  _timeout: {warn: 90m}\n  +a: {work>: hour}\n  +b: {work>: hour}", of("+g", "1h 30m", 1), "success"},
		"group in time":   {"+g:\n  _timeout: {warn: 3h}\n  +a: {work>: hour}", nil, "success"},
		"each round":      {"+g:\n  _timeout: {warn: 30m}\n  _retry: 1\n  +a: {work>: worse}", append(of("+g", "30m", 2), "Workflow session attempt failed"), "error"},
		"tasks of a task": {"+a:\n  _timeout: {warn: 90m}\n  loop>: 2\n  _do: {work>: hour}", of("+a", "1h 30m", 1), "success"},
		"file":            {"_timeout: {warn: 90m}\n+a: {work>: hour}\n+b: {work>: hour}", of("", "1h 30m", 1), "success"},
	} {
		for _, several := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " in several"}[several], func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					w.on("hour", lasting(time.Hour))
					w.on("thrice", thrice)
					w.on("worse", func(ctx context.Context, t *operators.Task) (operators.Result, error) {
						if r, err := lasting(time.Hour)(ctx, t); err != nil {
							return r, err
						}
						return failing(ctx, t)
					})
					p := w.closingProcess(several)
					want(t, "status", p.end(p.run("zerodag: 1\n"+c.text+"\n")), c.end)
					pass(time.Minute)
					want(t, "notices", w.told(), c.told)
				})
			})
		}
	}
}

// TestSlowCrash proves that a server that dies in the meantime, or is down at that time, does not change the notices
// about a group.
func TestSlowCrash(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("polls", polls)
		p := w.serve()
		a := p.run("zerodag: 1\n+g:\n  _timeout: {warn: 30m, total: 5h}\n  +a: {work>: polls}\n")
		pass(10 * time.Minute)
		p.crash()
		pass(time.Hour)
		p = w.serve()
		pass(time.Minute)
		want(t, "notices", w.told(), []string{"Task +main+g is slow: it has run longer than 30m"})
		want(t, "status", p.status(a), "running")
		p.crash()
		p = w.serve()
		pass(time.Hour)
		want(t, "notices after another crash", len(w.told()), 1)
		want(t, "status at the end", p.end(a), "error")
	})
}
