package enginetest

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/param"
)

// line is one thing to print: its subject and its text.
type line struct{ subject, text string }

// lines joins consecutive lines that have the same text and many subjects.
type lines []line

const few = 6 // how many lines with the same text are printed in full

func (l *lines) add(x line) { *l = append(*l, x) }

func (l lines) String() string {
	var b strings.Builder
	for i := 0; i < len(l); {
		end := i + 1
		for end < len(l) && l[end].text == l[i].text && l[i].subject != "" {
			end++
		}
		if end-i > few {
			fmt.Fprintf(&b, "%s ... %s (%d): %s\n", l[i].subject, l[end-1].subject, end-i, l[i].text)
			i = end
			continue
		}
		for ; i < end; i++ {
			if l[i].subject != "" {
				b.WriteString(l[i].subject + ": ")
			}
			b.WriteString(l[i].text + "\n")
		}
	}
	return b.String()
}

func shortened(text string, most int) string {
	all := strings.SplitAfter(text, "\n")
	if len(all) <= most {
		return text
	}
	return strings.Join(all[:3], "") + fmt.Sprintf("... %d more\n", len(all)-4)
}

// apply applies a change to the mirror and describes it.
func (in *interpreter) apply(c engine.Change) line {
	m := in.mirror
	var before engine.Progress
	if x, ok := c.(engine.TaskChanged); ok {
		before = m.Task(x.Task).Progress
	}
	m.Apply(c)
	in.trace.applied(c, before)
	in.countNames(c)
	switch c := c.(type) {
	case engine.AttemptStarted:
		return line{text: in.started(c)}
	case engine.Begun:
		return line{text: "the attempt begins"}
	case engine.Admitted:
		return line{text: "the attempt has its slot"}
	case engine.TasksAdded:
		return line{text: in.added(c)}
	case engine.TaskChanged:
		return line{in.name(c.Task), in.changed(c, before)}
	case engine.Skipped:
		return line{in.name(c.Task), "skipped with all below it: " + c.Why}
	case engine.SubtreeCanceled:
		return line{in.name(c.Task), "all below it is canceled"}
	case engine.GroupRestarted:
		return line{in.name(c.Group), fmt.Sprintf("starts again, copies from #%d to #%d", c.First, len(m.Tasks()))}
	case engine.Growing:
		return line{in.name(c.Owner), fmt.Sprintf("%d of %d subtasks are made", c.Next, c.Total)}
	case engine.KillRequested:
		return line{text: map[bool]string{true: "a second kill requested", false: "kill requested"}[c.Forced]}
	case engine.PauseChanged:
		return line{text: paused(c)}
	case engine.SLAFired:
		return line{text: "sla fired"}
	case engine.AttemptEnded:
		return line{text: fmt.Sprintf("attempt ended: success %v", m.Succeeded())}
	}
	return line{text: fmt.Sprintf("%T", c)}
}

func (in *interpreter) started(c engine.AttemptStarted) string {
	text := fmt.Sprintf("attempt started: limit %d, %d tasks", c.Limit, len(in.mirror.Tasks()))
	if !c.SLAAt.IsZero() {
		text += ", sla at " + in.since(c.SLAAt)
	}
	if !c.StartsAt.IsZero() {
		text += ", begins at " + in.since(c.StartsAt)
	}
	if c.Slot != nil {
		text += ", waits for pool " + c.Slot.Name
	}
	return text
}

func paused(c engine.PauseChanged) string {
	switch {
	case c.Paused == nil && c.Slot != nil:
		return "the attempt continues and requests its slot again"
	case c.Paused == nil:
		return "the attempt continues"
	case c.Slot != nil:
		return "paused by " + c.Paused.By + ", and gives up its place in line"
	}
	return "paused by " + c.Paused.By
}

// name returns a task's full name, with its id if several have that name.
func (in *interpreter) name(id engine.TaskID) string {
	if id == engine.Whole {
		return "the attempt"
	}
	t := in.mirror.Task(id)
	if in.named[t.Name] > 1 {
		return fmt.Sprintf("%s#%d", t.Name, id)
	}
	return t.Name
}

// countNames recounts the tasks with each name after a change that created tasks.
func (in *interpreter) countNames(c engine.Change) {
	switch c.(type) {
	case engine.AttemptStarted, engine.TasksAdded, engine.GroupRestarted:
		in.named = map[string]int{}
		for _, t := range in.mirror.Tasks() {
			in.named[t.Name]++
		}
	}
}

func (in *interpreter) added(c engine.TasksAdded) string {
	first := int(c.First) + c.From
	text := fmt.Sprintf("added below %s:", in.name(c.Parent))
	if len(c.Nodes) > few {
		return fmt.Sprintf("%s #%d %s ... #%d %s (%d)", text, first, c.Nodes[0].Name, first+len(c.Nodes)-1, c.Nodes[len(c.Nodes)-1].Name, len(c.Nodes))
	}
	for i, n := range c.Nodes {
		text += fmt.Sprintf(" #%d %s", first+i, n.Name)
	}
	return text
}

func (in *interpreter) changed(c engine.TaskChanged, before engine.Progress) string {
	p := c.Progress
	text := p.State.String()
	if p.State != before.State {
		text = before.State.String() + " -> " + text
	}
	say := func(format string, x ...any) { text += fmt.Sprintf(" "+format, x...) }
	for _, x := range []struct {
		name    string
		now, is any
	}{
		{"d", p.Dispatch, before.Dispatch}, {"retries", p.RetryCount, before.RetryCount}, {"losses", p.Losses, before.Losses}, {"crashes", p.Crashes, before.Crashes},
		{"held", p.Held, before.Held}, {"preparing", p.Preparing, before.Preparing}, {"ends", p.Ends, before.Ends},
	} {
		if x.now != x.is {
			say("%s=%v", x.name, x.now)
		}
	}
	if u := p.Pool; u != nil && u != before.Pool {
		text += slots(u)
	}
	if t := p.Timeout; t != nil && t != before.Timeout {
		text += in.deadline(t, before.Timeout)
	}
	if p.Ending != before.Ending {
		say("then %v", p.Ending)
	}
	if p.Closing != before.Closing {
		say("closing=%s", p.Closing)
	}
	if !p.RetryAt.IsZero() && p.RetryAt != before.RetryAt {
		say("until %s", in.since(p.RetryAt))
	}
	if !param.Equal(p.Params, before.Params) && p.Params.Len() > 0 {
		say("state=%s", param.Text(p.Params))
	}
	if c.Outcome != nil {
		text += results(c.Outcome)
	}
	return text
}

// slots describes a task's standing with its pool's slots.
func slots(u *claim.Use) string {
	text := fmt.Sprintf(" pool=%s try=%d", u.Asked().Name, u.Try)
	switch {
	case u.Waits:
		text += " waits"
	case u.Has:
		text += fmt.Sprintf(" has %d", u.Asked().Slots)
	default:
		text += " freed"
	}
	if n := len(u.Got); n > 0 {
		text += fmt.Sprintf(" and %d before it", n)
	}
	return text
}

// deadline describes when a task's time ends, and when the task is slow.
func (in *interpreter) deadline(t, was *claim.Timeout) (text string) {
	end, kind := t.Deadline(in.now)
	switch {
	case t.Expired != "":
		text = fmt.Sprintf(" its %s is over", t.Expired)
	case !end.IsZero() && t.Fresh:
		text = fmt.Sprintf(" %s has %v", kind, t.Try)
	case !end.IsZero():
		text = fmt.Sprintf(" %s ends %s", kind, in.since(end))
	}
	if t.Warned && (was == nil || !was.Warned) {
		text += " a notification reports that it is slow"
	} else if at := t.SlowAt(in.now); !at.IsZero() && (was == nil || !at.Equal(was.SlowAt(in.now))) {
		text += " slow " + in.since(at)
	}
	return text
}

// results describes a run's result.
func results(o *engine.Outcome) (text string) {
	for _, part := range []struct {
		name string
		m    *param.Map
	}{{"export", o.Exports}, {"store", o.Stores}, {"error", o.Error}, {"outputs", o.Outputs}} {
		if part.m.Len() > 0 {
			text += " " + part.name + "=" + param.Text(part.m)
		}
	}
	if len(o.ResetStore) > 0 {
		text += fmt.Sprintf(" reset=%v", o.ResetStore)
	}
	return text
}

func important(priority int) string {
	if priority == 0 {
		return ""
	}
	return fmt.Sprintf(", priority %d", priority)
}

// effect describes an effect that a guard owes.
func (in *interpreter) effect(guard string, e engine.Effect) line {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " at " + in.since(t)
	}
	switch e := e.(type) {
	case engine.Dispatch:
		text := fmt.Sprintf("dispatched by %s, d=%d%s", guard, e.Dispatch, at(e.At))
		if e.Cancel {
			text += ", to clean up"
		}
		return line{"> " + in.name(e.Task), text}
	case engine.Acquire:
		return line{"> " + in.name(e.Task), fmt.Sprintf("requests %d of pool %s by %s, try %d, d=%d%s", e.Pool.Asked().Slots, e.Pool.Asked().Name, guard, e.Pool.Try, e.Dispatch, important(e.Pool.Asked().Priority))}
	case engine.Release:
		text := fmt.Sprintf("releases %d of pool %s by %s, try %d", e.Pool.Slots, e.Pool.Name, guard, e.Try)
		if e.Waited {
			text += ", which waited"
		}
		return line{"> " + in.name(e.Task), text}
	case engine.Timer:
		return line{"> " + in.name(e.Task), fmt.Sprintf("timer of %s, d=%d%s", guard, e.Dispatch, at(e.At))}
	case engine.TimeoutTimer:
		return line{"> " + in.name(e.Task), fmt.Sprintf("timeout of %s, timer %d%s", guard, e.Timer, at(e.At))}
	case engine.StartTimer:
		return line{text: fmt.Sprintf("> start timer of %s%s", guard, at(e.At))}
	case engine.SLATimer:
		return line{text: fmt.Sprintf("> sla timer of %s%s", guard, at(e.At))}
	case engine.Continue:
		return line{text: "> continue, by " + guard}
	case engine.End:
		return line{text: fmt.Sprintf("> end reported by %s, success %v", guard, e.Success)}
	}
	return line{text: fmt.Sprintf("> %T", e)}
}
