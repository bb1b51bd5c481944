package local

import (
	"context"
	"io"
	"strconv"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/execution"
	"zerodag/operators"
)

// Attempt is one attempt and the goroutine that drives it.
type Attempt struct {
	ID      int64
	State   *engine.State // belongs to the attempt's goroutine until the attempt has ended
	host    *Host
	session *session
	request Request
	zone    string

	evalStored bool // see run.Stored

	posts  chan func() // functions that other goroutines want to run on the attempt's goroutine
	done   chan struct{}
	steps  int
	now    time.Time
	inline []engine.Run // runs for this goroutine before anything else happens
	others []engine.Run // runs for other goroutines
	timers int          // timers that are set and have not fired
	stop   map[engine.TaskID]context.CancelFunc
}

// result reports whether the attempt has ended, and whether it succeeded.
func (a *Attempt) result() (done, success bool) {
	select {
	case <-a.done:
		return true, a.State.Succeeded()
	default:
		return false, false
	}
}

// run steps until the attempt has ended.
func (a *Attempt) run(ctx context.Context, params *param.Map, limit int) {
	defer close(a.done)
	a.step(ctx, engine.Start{By: a.guard(), Params: params, Limit: limit})
	for !a.State.Ended() {
		if a.heedKill(ctx); a.work(ctx) {
			continue
		}
		killed := ctx.Done()
		if a.State.Canceled() {
			killed = nil
		}
		select {
		case do := <-a.posts:
			do()
		case <-killed:
		}
	}
}

// work runs the tasks that are due: inline tasks here, and all others on separate goroutines, unless there is only one,
// so that a chain of commands needs no second goroutine.
func (a *Attempt) work(ctx context.Context) bool {
	switch {
	case len(a.inline) > 0:
		run := a.inline[0]
		a.inline = a.inline[1:]
		within := a.within(ctx, run)
		a.finish(ctx, run, a.host.execute(within, a.job(within, run)))
	case len(a.others) == 1 && len(a.stop) == 0 && a.timers == 0 && !a.State.Closes(a.others[0].Task):
		run := a.others[0]
		a.others = a.others[:0]
		a.host.acquire()
		outcome := a.host.execute(ctx, a.job(ctx, run))
		a.host.release()
		a.finish(ctx, run, outcome)
	case len(a.others) > 0:
		for _, run := range a.others {
			a.beside(ctx, run)
		}
		a.others = a.others[:0]
	default:
		return false
	}
	return true
}

// heedKill notifies the engine once that the caller's context is canceled, before the result of any run that this
// interrupted.
func (a *Attempt) heedKill(ctx context.Context) {
	if ctx.Err() == nil || a.State.Canceled() {
		return
	}
	a.step(ctx, engine.Kill{By: a.guard()})
}

// within returns a run's context: cleanup continues when the caller's context is canceled.
func (a *Attempt) within(ctx context.Context, run engine.Run) context.Context {
	if a.State.Closes(run.Task) {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// guard names the next event: in this host, each event owes its own effects.
func (a *Attempt) guard() engine.By {
	a.steps++
	return engine.By{Guard: strconv.Itoa(a.steps)}
}

// step does what every host must do: Step, keep the changes, then carry out the outstanding effects.
func (a *Attempt) step(ctx context.Context, e engine.Event) {
	if now := a.host.Now(); now.After(a.now) {
		a.now = now
	}
	guard := strconv.Itoa(a.steps)
	changes, why := a.State.Step(e, a.now)
	if why != "" {
		return
	}
	if a.host.Changed != nil {
		a.host.Changed(a.State, changes)
	}
	for id, stop := range a.stop {
		if a.State.Task(id).Cancel {
			stop() // the attempt was killed, or its group failed fast
		}
	}
	for _, effect := range a.State.Outstanding(guard) {
		a.perform(ctx, effect)
	}
}

func (a *Attempt) perform(ctx context.Context, effect engine.Effect) {
	switch e := effect.(type) {
	case engine.Dispatch:
		if e.At.After(a.now) {
			a.at(e.At, func() { a.wake(ctx, e.Run) })
			return
		}
		a.dispatch(e.Run)
	case engine.Acquire:
		a.step(ctx, engine.Granted{By: a.guard(), Run: e.Run}) // pools exist only on a server
	case engine.Timer:
		a.at(e.At, func() { a.step(ctx, engine.Due{By: a.guard(), Run: e.Run}) })
	case engine.TimeoutTimer:
		a.at(e.At, func() {
			a.step(ctx, engine.TimedOut{By: a.guard(), Expiry: e.Expiry})
			a.tellSlow(ctx, e.Expiry)
		})
	case engine.StartTimer:
		a.at(e.At, func() { a.step(ctx, engine.StartDue{By: a.guard()}) })
	case engine.SLATimer:
		a.at(e.At, func() { a.step(ctx, engine.SLADue{By: a.guard()}) })
	case engine.Continue:
		a.step(ctx, engine.GoOn{By: a.guard()})
	case engine.End:
	}
}

// tellSlow notifies users when a timer shows that a task is taking longer than it should; operator runs do that
// themselves.
func (a *Attempt) tellSlow(ctx context.Context, x engine.Expiry) {
	task, message := a.State.Slow(x)
	if task == "" || a.host.Notifier == nil {
		return
	}
	t := a.job(ctx, engine.Run{Task: x.Task}).Task
	t.Log.Line(operators.Warn, "local", message)
	go func() {
		if c, ok := t.Log.(io.Closer); ok {
			defer c.Close()
		}
		if err := a.host.Notifier.Notify(ctx, message, &t); err != nil {
			t.Log.Line(operators.Error, "local", "The notification could not be sent: "+err.Error())
		}
	}()
}

// at calls do on the attempt's goroutine at a given time, unless the attempt has ended by then.
func (a *Attempt) at(t time.Time, do func()) {
	a.timers++
	time.AfterFunc(max(0, t.Sub(a.now)), func() {
		a.post(func() {
			a.timers--
			do()
		})
	})
}

func (a *Attempt) post(do func()) {
	select {
	case a.posts <- do:
	case <-a.done:
	}
}

// wake runs a task whose waiting time has passed, if it is still waiting.
func (a *Attempt) wake(ctx context.Context, run engine.Run) {
	if a.State.Task(run.Task).Dispatch != run.Dispatch {
		return
	}
	a.step(ctx, engine.Due{By: a.guard(), Run: run}) // from now on this event owes the run
}

// dispatch puts a task into the list from which work takes it.
func (a *Attempt) dispatch(run engine.Run) {
	if execution.Inline(a.host.Registry, a.State.Task(run.Task)) {
		a.inline = append(a.inline, run)
	} else {
		a.others = append(a.others, run)
	}
}

// beside runs a task on a separate goroutine.
func (a *Attempt) beside(ctx context.Context, run engine.Run) {
	within := a.within(ctx, run)
	runCtx, stop := context.WithCancel(within)
	job := a.job(within, run)
	a.stop[run.Task] = stop
	go func() {
		defer stop()
		a.host.acquire()
		outcome := a.host.execute(runCtx, job)
		a.host.release()
		a.post(func() { a.finish(ctx, run, outcome) })
	}()
}

// SessionTime returns the attempt's session time in the workflow's zone.
func (a *Attempt) SessionTime() time.Time { return a.request.SessionTime }
