package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"time"

	"zerodag/integration/stack"
)

// latency is how long an operation took, over a number of repetitions.
type latency struct {
	What          string
	Times         int
	P50, P95, Max time.Duration
}

// summary returns the latency of an operation that took the given times.
func summary(what string, all []time.Duration) latency {
	if len(all) == 0 {
		return latency{What: what}
	}
	all = slices.Sorted(slices.Values(all))
	at := func(share int) time.Duration { return all[(len(all)*share+99)/100-1] } // the smallest time that share percent do not exceed
	return latency{what, len(all), at(50), at(95), all[len(all)-1]}
}

// The workflows that are timed: a task that the executor runs itself, a task for an agent, and a command, which reports
// when it began.

func flows() map[string]string {
	return map[string]string{"inline.dig": "+a:\n  echo>: x\n", "agent.dig": "+a:\n  wait>: 1s\n  blocking: true\n", "command.dig": "+a:\n  sh>: date +began-%s.%N\n"}
}

// timing measures one stack.
type timing struct {
	*stack.Stack
	project stack.Project
	session time.Time
	out     io.Writer
	list    []latency
}

// measure times calls of the API, the time from a start to the end of its first task, and the time until a command
// begins, each the given number of times. The time of a command is from its machine's clock, which AWS keeps accurate;
// all others are measured here and include the round trip to the API.
func measure(ctx context.Context, s *stack.Stack, calls, starts, commands int, out io.Writer) ([]latency, error) {
	t := &timing{Stack: s, session: time.Now().Add(-100 * 365 * 24 * time.Hour), out: out}
	var err error
	if t.project, err = s.Push(ctx, "awsrun-latency", flows()); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		what  string
		times int
		once  func(context.Context) (time.Duration, error)
	}{
		{"a call of the API (GET of a project)", calls, t.call},
		{"the API call that starts an attempt", starts, func(ctx context.Context) (time.Duration, error) {
			took, _, err := t.start(ctx, "inline")
			return took, err
		}},
		{"from the response to a start until a task of the executor (echo>) has ended", starts, t.first("inline", 0)},
		{"from the response to a start until a task of an agent (wait>: 1s, minus that second) has ended", starts, t.first("agent", time.Second)},
		{"from the response to a start until a command has begun on a new machine", commands, t.command},
	} {
		var all []time.Duration
		for range x.times {
			took, err := x.once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", x.what, err)
			}
			all = append(all, took)
		}
		l := summary(x.what, all)
		t.list = append(t.list, l)
		fmt.Fprintf(out, "awsrun: %s: p50 %v, p95 %v, max %v of %d\n", l.What, short(l.P50), short(l.P95), short(l.Max), l.Times)
	}
	return t.list, nil
}

// short drops digits that do not matter.
func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func (t *timing) call(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := t.Get(ctx, "/api/projects/"+t.project.ID, nil)
	return time.Since(began), err
}

// start returns how long the call took, and the attempt.
func (t *timing) start(ctx context.Context, workflow string) (time.Duration, stack.Attempt, error) {
	t.session = t.session.Add(time.Minute)
	began := time.Now()
	a, err := t.Start(ctx, t.project.Workflows[workflow], t.session)
	return time.Since(began), a, err
}

// first times the only task of a workflow, which itself takes the given time.
func (t *timing) first(workflow string, itself time.Duration) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		_, a, err := t.start(ctx, workflow)
		if err != nil {
			return 0, err
		}
		answered := time.Now()
		if err := t.end(ctx, a.ID, 0); err != nil {
			return 0, err
		}
		return max(time.Since(answered)-itself, 0), nil
	}
}

// end polls until an attempt has succeeded, with a pause between two calls.
func (t *timing) end(ctx context.Context, id string, pause time.Duration) error {
	for {
		var a stack.Attempt
		if err := t.Get(ctx, "/api/attempts/"+id, &a); err != nil {
			return err
		}
		if a.Done && !a.Success {
			return fmt.Errorf("attempt %s did not succeed", id)
		}
		if a.Done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("attempt %s did not end: %w", id, ctx.Err())
		case <-time.After(pause):
		}
	}
}

var beganAt = regexp.MustCompile(`began-([0-9]+)\.([0-9]{9})`)

func (t *timing) command(ctx context.Context) (time.Duration, error) {
	_, a, err := t.start(ctx, "command")
	if err != nil {
		return 0, err
	}
	answered := time.Now()
	if err := t.end(ctx, a.ID, 200*time.Millisecond); err != nil {
		return 0, err
	}
	log, err := t.Logs(ctx, a.ID)
	if err != nil {
		return 0, err
	}
	m := beganAt.FindStringSubmatch(log)
	if m == nil {
		return 0, fmt.Errorf("the log of attempt %s does not show when its command began: %q", a.ID, log)
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64) // digits
	nanos, _ := strconv.ParseInt(m[2], 10, 64)
	return time.Unix(seconds, nanos).Sub(answered), nil
}
