package enginetest

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/resume"
)

// workflow compiles the YAML below it: workflow [name=wf] [defaults={...}]
func (in *interpreter) workflow(a args, s Step) (string, error) {
	if err := a.only(0, "name", "defaults"); err != nil {
		return "", err
	}
	name, err := a.text("name", "wf")
	if err != nil {
		return "", err
	}
	if in.defaults, err = a.mapping("defaults"); err != nil {
		return "", err
	}
	raw, err := dig.ParseYAML(name+".dig", []byte(s.Body))
	if err != nil {
		return "error: " + err.Error(), nil
	}
	m, _ := raw.(*param.Map)
	w, err := dig.Define(name, m)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	if in.def, err = engine.Define(w); err != nil {
		return "error: " + err.Error(), nil
	}
	in.fresh()
	var b strings.Builder
	for i, n := range in.def.Nodes {
		fmt.Fprintf(&b, "#%d %s", i+1, n.Name)
		if n.Group {
			b.WriteString(" group")
		}
		for k, u := range n.Upstreams {
			if k == 0 {
				b.WriteString(" after")
			}
			fmt.Fprintf(&b, " #%d", u+1)
		}
		b.WriteString("\n")
	}
	return shortened(b.String(), 30), nil
}

// fresh creates an attempt that has not been started, and keeps the previous one.
func (in *interpreter) fresh() {
	in.previous = in.state
	in.state, in.mirror = engine.New(in.def, in.defaults), engine.New(in.def, in.defaults)
	in.guards = nil
}

// start begins the attempt: start [params={...}] [limit=N] [nosla=true] [slot=POOL] [priority=N]
func (in *interpreter) start(a args, _ Step) (string, error) {
	if err := a.only(0, "params", "limit", "nosla", "slot", "priority", "at", "guard"); err != nil {
		return "", err
	}
	params, err := a.mapping("params")
	if err != nil {
		return "", err
	}
	limit, err := a.number("limit", 0)
	if err != nil {
		return "", err
	}
	by := in.by(a)
	e := engine.Start{By: by, Params: params, Limit: limit, Carried: in.carried, NoSLA: a.keys["nosla"] == "true"}
	if name := a.keys["slot"]; name != "" {
		e.Slot = &claim.Pool{Name: name, Slots: 1, Size: 1}
	}
	e.Priority, err = a.number("priority", 0)
	if err != nil {
		return "", err
	}
	if a.keys["at"] != "" {
		after, err := a.duration("at")
		if err != nil {
			return "", err
		}
		e.At = in.now.Add(after)
	}
	return in.step(e, by.Guard)
}

// resume carries tasks of the current attempt over into a new attempt of the same workflow, or of the one that the last
// workflow command defined, and skips some: resume failed|from +x|only +x|all [until=+x] [done=+x,+y]
func (in *interpreter) resume(a args, _ Step) (string, error) {
	if err := a.only(2, "until", "done"); err != nil {
		return "", err
	}
	old := in.state
	if len(old.Tasks()) == 0 {
		old = in.previous
	}
	part, err := a.part()
	if err != nil {
		return "", err
	}
	in.carried = nil
	switch a.word(0) {
	case "failed":
		in.carried, err = resume.Failed(old)
	case "from":
		in.carried, err = resume.Before(old, a.word(1))
	case "only":
		part.Only = a.word(1)
	case "all":
	default:
		return "", fmt.Errorf("resume failed, from, only or all")
	}
	if err == nil && !part.IsEmpty() {
		in.carried, err = resume.OfPart(in.def, old, in.carried, part, in.now)
	}
	if err != nil {
		return "error: " + err.Error(), nil
	}
	in.fresh()
	in.earlier = &Earlier{State: old, Carried: in.carried, Earlier: in.earlier}
	var list lines
	for _, c := range in.carried {
		how := "taken over"
		if c.Skipped != "" {
			how += ", skipped: " + c.Skipped
		}
		list.add(line{c.Name, how})
	}
	if len(in.carried) == 0 {
		return "nothing is taken over", nil
	}
	return list.String(), nil
}

// part returns the tasks that a resumed attempt skips, from the until and done keys.
func (a args) part() (part engine.Part, err error) {
	if part.Until, err = a.text("until", ""); err != nil {
		return part, err
	}
	done, err := a.text("done", "")
	if done != "" {
		part.Done = strings.Split(done, ",")
	}
	return part, err
}

// succeed ends runs successfully: succeed +task [d=N] [store={...}] [export={...}] [reset=[a.b]] [sub={...}] [loop=N
// [parallel=...]]; the body is YAML of subtasks. succeed * ends all active runs.
func (in *interpreter) succeed(a args, s Step) (string, error) {
	if err := a.only(1, "d", "store", "export", "reset", "sub", "loop", "parallel", "guard"); err != nil {
		return "", err
	}
	result, err := outcome(a, s)
	if err != nil {
		return "", err
	}
	if a.word(0) == "*" {
		return in.succeedAll(a, result)
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(engine.Succeeded{By: by, Run: run, Result: result}, by.Guard)
}

func (in *interpreter) succeedAll(a args, result engine.Outcome) (string, error) {
	var runs []engine.Run
	for _, t := range in.state.Tasks() {
		if t.State == engine.Running {
			runs = append(runs, engine.Run{Task: t.ID, Dispatch: t.Dispatch})
		}
	}
	for _, run := range runs {
		by := in.by(a)
		if _, err := in.step(engine.Succeeded{By: by, Run: run, Result: result}, by.Guard); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d runs\n%s", len(runs), in.allOwed()), nil
}

func outcome(a args, s Step) (o engine.Outcome, err error) {
	if o.Stores, err = a.mapping("store"); err != nil {
		return o, err
	}
	if o.Exports, err = a.mapping("export"); err != nil {
		return o, err
	}
	if o.Subtasks, err = a.mapping("sub"); err != nil {
		return o, err
	}
	reset, err := a.value("reset")
	if err != nil {
		return o, err
	}
	list, _ := reset.([]param.Value)
	for _, path := range list {
		o.ResetStore = append(o.ResetStore, strings.Split(path.(string), "."))
	}
	if s.Body != "" {
		v, err := dig.ParseYAML("sub", []byte(s.Body))
		if err != nil {
			return o, err
		}
		o.Subtasks, _ = v.(*param.Map)
	}
	rounds, err := a.number("loop", 0)
	if err != nil || rounds == 0 {
		return o, err
	}
	parallel, err := a.value("parallel")
	o.Subtasks = Loop(rounds, parallel)
	return o, err
}

// Loop returns the subtasks that an operator such as loop> generates, one echo per iteration.
func Loop(rounds int, parallel param.Value) *param.Map {
	sub := param.New()
	if parallel != nil {
		sub.Set("_parallel", parallel)
	}
	for i := range rounds {
		sub.Set(fmt.Sprintf("+loop-%d", i), param.New("_export", param.New("i", int64(i)), "echo>", "${i}"))
	}
	return sub
}

// prepared feeds the evaluated `zerodag: 1` keys of a task: prepared +task [skip="_if is false"] [pool=NAME,...]
// [slots=N] [wait=2h] [try=30m] [total=2h] [export={a: 1}] [outputs={a: 1}] [d=N]
func (in *interpreter) prepared(a args, _ Step) (string, error) {
	if err := a.only(1, "d", "skip", "pool", "slots", "wait", "try", "total", "warn", "export", "outputs", "guard"); err != nil {
		return "", err
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	skip, err := a.text("skip", "")
	if err != nil {
		return "", err
	}
	name, err := a.text("pool", "")
	if err != nil {
		return "", err
	}
	slots, err := a.number("slots", 1)
	if err != nil {
		return "", err
	}
	limits, wait := claim.Limits{}, time.Duration(0)
	for key, to := range map[string]*time.Duration{"wait": &wait, "try": &limits.Try, "total": &limits.Total, "warn": &limits.Warn} {
		if _, there := a.keys[key]; there {
			if *to, err = a.duration(key); err != nil {
				return "", err
			}
		}
	}
	by := in.by(a)
	e := engine.Prepared{By: by, Run: run, Skip: skip}
	if e.Exports, err = a.mapping("export"); err != nil {
		return "", err
	}
	if e.Outputs, err = a.mapping("outputs"); err != nil {
		return "", err
	}
	if limits != (claim.Limits{}) {
		e.Timeout = &limits
	}
	if name != "" {
		for i, name := range strings.Split(name, ",") {
			c := claim.Pool{Name: name, Slots: slots, Inherits: true, Wait: wait}
			if i == 0 {
				e.Pool = &c
			} else {
				e.Pool.Then = append(e.Pool.Then, c)
			}
		}
	}
	return in.step(e, by.Guard)
}

// granted gives a task, or the attempt, the slots that it waits for: granted +task [d=N] | granted attempt
func (in *interpreter) granted(a args, _ Step) (string, error) {
	if err := a.only(1, "d", "guard"); err != nil {
		return "", err
	}
	if a.word(0) == "attempt" {
		_, run := in.state.UseOf(engine.Whole)
		by := in.by(a)
		return in.step(engine.Granted{By: by, Run: run}, by.Guard)
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(engine.Granted{By: by, Run: run}, by.Guard)
}

// timeout fires the last timer of a task's `_timeout`: timeout +task [timer=N]
func (in *interpreter) timeout(a args, _ Step) (string, error) {
	if err := a.only(1, "timer", "guard"); err != nil {
		return "", err
	}
	t := in.find(a.word(0))
	if t == nil {
		return "", fmt.Errorf("no task %q", a.word(0))
	}
	last := 0
	if t.Timeout != nil {
		last = t.Timeout.Timer
	}
	number, err := a.number("timer", last)
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(engine.TimedOut{By: by, Expiry: engine.Expiry{Task: t.ID, Timer: number}}, by.Guard)
}

// fail ends a run with a failure: fail +task [d=N] [message=...]
func (in *interpreter) fail(a args, _ Step) (string, error) {
	if err := a.only(1, "d", "message", "error", "guard"); err != nil {
		return "", err
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	message, err := a.text("message", "failed")
	if err != nil {
		return "", err
	}
	failure, err := a.mapping("error")
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(engine.Errored{By: by, Run: run, Error: param.Merge(param.New("message", message), failure)}, by.Guard)
}

// later asks to be run again: later +task after=10s [state={...}] [retry=1] [until=90s] [d=N]
func (in *interpreter) later(a args, _ Step) (string, error) {
	if err := a.only(1, "d", "after", "state", "retry", "until", "guard"); err != nil {
		return "", err
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	after, err := a.duration("after")
	if err != nil {
		return "", err
	}
	state, err := a.mapping("state")
	if err != nil {
		return "", err
	}
	by := in.by(a)
	retry, err := a.number("retry", 0)
	if err != nil {
		return "", err
	}
	e := engine.Later{By: by, Run: run, After: after, State: state, Retry: retry != 0}
	if _, there := a.keys["until"]; there {
		since, err := a.duration("until")
		if err != nil {
			return "", err
		}
		e.Until = in.epoch.Add(since)
	}
	return in.step(e, by.Guard)
}

// due ends the wait of a task: due +task [d=N]
func (in *interpreter) due(a args, _ Step) (string, error) {
	return in.ofRun(a, func(by engine.By, run engine.Run) engine.Event { return engine.Due{By: by, Run: run} })
}

// lost reports that a run never reported back: lost +task [blameless | crash] [d=N]
func (in *interpreter) lost(a args, _ Step) (string, error) {
	return in.ofRun(a, func(by engine.By, run engine.Run) engine.Event {
		if a.word(1) == "crash" {
			return engine.Lost{By: by, Run: run, Blameless: true, Crashes: 3}
		}
		return engine.Lost{By: by, Run: run, Blameless: a.word(1) == "blameless"}
	})
}

// fence reports that it is unknown whether a run continues: fence +task [d=N]
func (in *interpreter) fence(a args, _ Step) (string, error) {
	return in.ofRun(a, func(by engine.By, run engine.Run) engine.Event { return engine.Fenced{By: by, Run: run} })
}

func (in *interpreter) ofRun(a args, event func(engine.By, engine.Run) engine.Event) (string, error) {
	if err := a.only(2, "d", "guard"); err != nil {
		return "", err
	}
	run, err := in.run(a.word(0), a)
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(event(by, run), by.Guard)
}

// kill requests the end of the attempt: kill, or kill again for a second kill
func (in *interpreter) kill(a args, _ Step) (string, error) {
	by := in.by(a)
	return in.step(engine.Kill{By: by, Force: a.word(0) == "again"}, by.Guard)
}

// pause pauses the attempt, and unpause resumes it: pause [reason=...]
func (in *interpreter) pause(a args, _ Step) (string, error) {
	if err := a.only(0, "reason", "guard"); err != nil {
		return "", err
	}
	reason, err := a.text("reason", "")
	if err != nil {
		return "", err
	}
	by := in.by(a)
	return in.step(engine.Pause{By: by, Who: "alice", Reason: reason}, by.Guard)
}

func (in *interpreter) unpause(a args, _ Step) (string, error) {
	by := in.by(a)
	return in.step(engine.Unpause{By: by}, by.Guard)
}

// goon and sladue feed the event with that name.

func (in *interpreter) goOn(a args, _ Step) (string, error) {
	by := in.by(a)
	return in.step(engine.GoOn{By: by}, by.Guard)
}

func (in *interpreter) slaDue(a args, _ Step) (string, error) {
	by := in.by(a)
	return in.step(engine.SLADue{By: by}, by.Guard)
}

// startDue feeds the event for the start time of the attempt.
func (in *interpreter) startDue(a args, _ Step) (string, error) {
	by := in.by(a)
	return in.step(engine.StartDue{By: by}, by.Guard)
}

// advance lets time pass: advance 10s
func (in *interpreter) advance(a args, _ Step) (string, error) {
	d, err := time.ParseDuration(a.word(0))
	in.now = in.now.Add(d)
	return "now " + in.since(in.now), err
}
