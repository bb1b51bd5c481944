package engine

import (
	"cmp"
	"fmt"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// succeeded takes a run's result: generated tasks first, then the state.
func (d *decision) succeeded(t *Task, r Outcome) {
	if t.Cancel {
		d.finish(t, Canceled, nil, nil)
		return
	}
	sub, err := compileSub(t, r.Subtasks)
	var check []dig.Node
	if err == nil {
		check, err = compileCheck(t)
	}
	if err == nil {
		err = cmp.Or(d.checkLimit(0, len(sub)), d.checkLimit(len(sub), len(check)))
	}
	if err != nil {
		d.errored(t, param.DataMap(ErrorObject(err)))
		return
	}
	out := &r
	if r.Subtasks == nil && r.Exports == nil && r.Stores == nil && r.ResetStore == nil && t.Outcome == nil {
		out = nil // nothing to keep, as with most tasks
	}
	if len(sub)+len(check) == 0 {
		d.finish(t, Success, out, nil)
		return
	}
	d.move(t, Planned, out, nil)
	var after []TaskID
	if len(sub) > 0 {
		after = []TaskID{d.addPortion(t, sub)}
	}
	d.addTasks(t, check, after, false)
}

// errored ends a task whose run failed without further retries, after its `_error` if it has one.
func (d *decision) errored(t *Task, failure *param.Map) {
	if t.Cancel {
		d.finish(t, Canceled, nil, nil)
		return
	}
	if t.Ends {
		d.groupFailed(t, failure)
		return
	}
	if t.Group && t.Waits() {
		d.neverBegins(t, failure)
		return
	}
	out := t.withError(failure)
	handler := withExport(t.setting("_error"), func(export *param.Map) *param.Map {
		return param.Merge(export.Without("error"), param.New("error", named(failure, []failedTask{{t.Name, failure}}, nil)))
	})
	end, ignored := Failed, t.ignores(failure)
	if ignored {
		end, out = Success, t.ignored(failure)
	}
	if t.Group { // the run that had to start it failed: nothing below it ever starts
		d.cancelBelow(t)
	}
	nodes, err := compile(t, "^error", handler)
	if err != nil || len(nodes) == 0 || d.checkLimit(0, len(nodes)) != nil {
		d.finish(t, end, out, func(p *Progress) { p.Ignored = ignored })
		return
	}
	d.move(t, Planned, out, func(p *Progress) { p.Ending, p.Ignored = end, ignored })
	d.addTasks(t, nodes, nil, false)
}

// withError returns the outcome of a failed task: what an earlier try stored is kept.
func (t *Task) withError(failure *param.Map) *Outcome {
	out := &Outcome{}
	if t.Outcome != nil {
		*out = *t.Outcome
	}
	out.Error = failure
	return out
}

// setting returns a mapping from a task's config, or from its `_export` below that: Digdag reads both (language.md
// 1.9).
func (t *Task) setting(key string) *param.Map {
	if !t.Export.Has(key) {
		return t.Config.Map(key)
	}
	return param.Merge(t.Export, t.Config).Map(key)
}

// withExport returns a handler's config with its `_export` changed; nil stays nil.
func withExport(handler *param.Map, change func(*param.Map) *param.Map) *param.Map {
	if handler.Len() == 0 {
		return nil
	}
	export := handler.Map("_export")
	if export == nil {
		export = param.New()
	}
	c := handler.Clone()
	c.Set("_export", change(export))
	return c
}

// later schedules another dispatch of a task; a kill wakes it at once.
func (d *decision) later(t *Task, e Later) {
	if t.Cancel {
		d.cleanUp(t, e.State) // the state may name a job that the run started elsewhere
		return
	}
	if e.Retry && t.totalOver(d.now) { // the run ended just before its time ran out
		d.errored(t, t.Timeout.Error(claim.ByTotal))
		return
	}
	at := d.now.Add(e.After.Truncate(time.Second))
	if e.After%time.Second > 0 {
		at = at.Add(time.Second) // Digdag counts whole seconds only
	}
	limits := heard(t.Timeout, e)
	if limits != nil {
		at = limits.Within(at, d.now)
	}
	to := RetryWaiting
	if !at.After(d.now) {
		to, at = Running, time.Time{}
	}
	d.move(t, to, nil, func(p *Progress) {
		p.Dispatch++
		p.RetryCount++
		p.Losses, p.Crashes = 0, 0 // it reported back
		p.Guard, p.Params, p.RetryAt, p.Timeout = d.guard, e.State, at, limits
		if e.Retry {
			p.Pool = p.Pool.GivenUp(d.guard)
		}
	})
	if to == Running && d.pauses(t) && !t.atWork() {
		d.hold(t, nil)
		return
	}
	if to == Running && t.needsSlots() {
		d.acquire(t, t.Pool.Pool, nil)
	}
}

// maxLosses is how many lost runs make the task fail.
const maxLosses = 3

// lost takes over a run whose holder has gone.
func (d *decision) lost(t *Task, e Lost) {
	if t.Group && !t.Preparing { // a timer, not a run: it may be set any number of times
		d.move(t, t.State, nil, func(p *Progress) {
			p.Dispatch++
			p.Guard, p.RetryAt = d.guard, t.RetryAt
		})
		return
	}
	if t.Waits() { // there is no run: another host requests its slots
		d.move(t, Running, nil, func(p *Progress) {
			p.Dispatch++
			p.Guard = d.guard
		})
		return
	}
	losses, crashes := t.Losses, t.Crashes
	switch {
	case e.Crashes > 0:
		crashes++
	case !e.Blameless:
		losses++
	}
	count := func(p *Progress) { p.Losses, p.Crashes = losses, crashes }
	switch {
	case losses >= maxLosses:
		d.move(t, t.State, nil, count)
		d.errored(t, param.New("message", "Task was lost three times: the process that ran it died or lost its connection"))
		return
	case e.Crashes > 0 && crashes >= e.Crashes:
		d.move(t, t.State, nil, count)
		d.errored(t, param.New("message", crashed(crashes)))
		return
	}
	d.move(t, t.State, nil, func(p *Progress) {
		count(p)
		p.Dispatch++
		p.Guard, p.RetryAt, p.Timeout = d.guard, t.RetryAt, t.Timeout.Begun()
	})
}

// fenced makes another guard responsible for a run, which continues if it still exists.
func (d *decision) fenced(t *Task) {
	d.move(t, t.State, nil, func(p *Progress) { p.Guard = d.guard })
}

// crashed returns the error message of a task that may have crashed the only server.
func crashed(times int) string {
	return fmt.Sprintf("The server crashed %d times in a row while this task ran, so the task is not run again. "+
		"Either the task crashes the server (for example, by using too much memory), or agent.max_crashes is too low for this machine", times)
}

// compileCheck compiles `_check`, which has not been validated before.
func compileCheck(t *Task) ([]dig.Node, error) {
	v, ok := t.Config.Get("_check")
	if !ok {
		v, _ = t.Export.Get("_check")
	}
	if v != nil {
		if _, err := param.AsMap("_check", v); err != nil {
			return nil, err
		}
	}
	return compile(t, CheckName, t.setting("_check"))
}

func compile(t *Task, name string, config *param.Map) ([]dig.Node, error) {
	if config.Len() == 0 {
		return nil, nil
	}
	return dig.Compile(t.Name, name, keys.Language{Level: t.Level}, config)
}

// compileSub compiles the tasks that a task's operator has generated.
func compileSub(t *Task, made *param.Map) ([]dig.Node, error) {
	if made.Len() == 0 {
		return nil, nil
	}
	language, body := keys.Body(keys.Language{Level: t.Level}, keys.OperatorOf(t.Config), made)
	return dig.Compile(t.Name, "^sub", language, body)
}

// limitError reports that an attempt would have too many tasks.
type limitError struct{ message string }

func (e *limitError) Error() string     { return e.message }
func (e *limitError) ErrorKind() string { return "task limit exceeded" }

// checkLimit returns an error if adding this many tasks, after `before` others that will be added, would exceed the
// limit.
func (d *decision) checkLimit(before, adding int) error {
	current := len(d.tasks) + before
	if adding == 0 || current+adding <= d.limit {
		return nil
	}
	return tooManyTasks(d.limit, current, adding)
}

func tooManyTasks(limit, current, adding int) error {
	return &limitError{fmt.Sprintf("Too many tasks. Limit: %d, Current: %d, Adding: %d", limit, current, adding)}
}

// addTasks creates generated tasks below t, all at once. after holds the first one's upstreams.
func (d *decision) addTasks(t *Task, nodes []dig.Node, after []TaskID, initial bool) {
	if len(nodes) == 0 {
		return
	}
	first := TaskID(len(d.tasks) + 1)
	d.apply(TasksAdded{Parent: t.ID, First: first, Nodes: nodes, After: after, Initial: initial, At: d.now})
	d.look = append(d.look, t.ID)
	d.lookAtResumed(first)
}

// lookAtResumed queues new groups that were carried over: children that the earlier attempt did not have may start at
// once.
func (d *decision) lookAtResumed(first TaskID) {
	if len(d.carried) == 0 {
		return
	}
	for _, t := range d.tasks[first-1:] {
		if t != nil && t.Resumed {
			d.look = append(d.look, t.ID)
		}
	}
}
