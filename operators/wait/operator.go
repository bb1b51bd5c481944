// Package wait implements `wait>`: it waits for a given duration. Any agent may run it; without `blocking` it must hold
// no thread, since the wait may take days.
package wait

import (
	"context"
	"fmt"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// startKey is the state param with the time at which the wait began, in milliseconds, by a clock that is never adjusted
// within a process, if there is one. Only a different process may then see it as earlier or later.
const startKey = "wait_start_time_millis"

// passedKey is the state param with the total of the pauses between polls so far, in milliseconds. The host measures
// them with a clock that is never adjusted.
const passedKey = "wait_passed_millis"

// Operator returns `wait>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "wait", Summary: "waits for a duration", Run: run}
}

type options struct {
	duration     time.Duration
	blocking     bool
	pollInterval time.Duration // 0: all of the remaining time
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	o, err := read(t.Params)
	if err != nil {
		return operators.Result{}, err
	}
	now := t.Steady
	if now.IsZero() {
		now = t.Now
	}
	start, err := operators.NewParams(t.State).IntOr(startKey, now.UnixMilli())
	if err != nil {
		return operators.Result{}, err
	}
	passed, err := operators.NewParams(t.State).IntOr(passedKey, 0)
	if err != nil {
		return operators.Result{}, err
	}
	// The time while a server was down also counts, so the larger of both is used.
	rest := o.duration - max(now.Sub(time.UnixMilli(start)), time.Duration(passed)*time.Millisecond)
	if rest <= 0 && t.State.Has(startKey) {
		return operators.Result{}, nil
	}
	rest = max(rest.Truncate(time.Second), time.Second)
	if o.blocking {
		return operators.Result{}, sleep(ctx, rest)
	}
	if o.pollInterval > 0 {
		rest = o.pollInterval
	}
	state := t.State.Clone()
	state.Set(startKey, start)
	state.Set(passedKey, passed+rest.Truncate(time.Second).Milliseconds())
	return operators.Result{}, &operators.Later{After: rest, State: state}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	}
}

func read(p *operators.Params) (options, error) {
	var o options
	var err error
	if o.duration, err = operators.Read(p, "_command", duration); err != nil {
		return o, err
	}
	if o.blocking, err = p.BoolOr("blocking", false); err != nil {
		return o, err
	}
	if o.pollInterval, err = operators.ReadOr(p, "poll_interval", duration, 0); err != nil {
		return o, err
	}
	if o.blocking && p.Has("poll_interval") {
		return o, param.Errorf("poll_interval can't be specified with blocking:true")
	}
	return o, nil
}

// duration adds Digdag's wording to an error.
func duration(key string, v param.Value) (time.Duration, error) {
	d, err := param.AsDuration(key, v)
	if err != nil {
		return 0, param.Errorf("Invalid configuration: %v", err)
	}
	return d, nil
}
