package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// reload stores the attempt as a snapshot and continues with the state read back from it.
func (in *interpreter) reload(args, Step) (string, error) {
	text, err := engine.EncodeState(in.state)
	if err != nil {
		return "", err
	}
	if in.state, err = engine.DecodeState(in.def, in.defaults, text); err != nil {
		return "", err
	}
	return "ok", nil
}

// outstanding prints the effects that a guard, or all guards, still owe: outstanding [guard=m1]
func (in *interpreter) outstanding(a args, _ Step) (string, error) {
	if err := a.only(0, "guard"); err != nil {
		return "", err
	}
	out := in.allOwed()
	if guard := a.keys["guard"]; guard != "" {
		out = in.owed(guard)
	}
	if out == "" {
		return "nothing", nil
	}
	return out, nil
}

func (in *interpreter) allOwed() string {
	guards := slices.Clone(in.guards)
	slices.Sort(guards)
	var list lines
	for _, g := range slices.Compact(guards) {
		for _, e := range in.state.Outstanding(g) {
			list.add(in.effect(g, e))
		}
	}
	return list.String()
}

// tasks lists all tasks with their states.
func (in *interpreter) tasks(args, Step) (string, error) {
	var list lines
	for _, t := range in.state.Tasks() {
		text := t.State.String()
		if t.Skipped != "" {
			text += ", skipped: " + t.Skipped
		}
		if t.Ignored {
			text += ", ignored"
		}
		if t.Resumed {
			text += ", resumed"
		}
		if t.Cancel {
			text += ", cancel requested"
		}
		if m := message(t); m != "" {
			text += ", error " + m
		}
		list.add(line{subject: fmt.Sprintf("#%d %s", t.ID, t.Name), text: text})
	}
	return list.String(), nil
}

// count counts tasks by state.
func (in *interpreter) count(args, Step) (string, error) {
	var counts [engine.Canceled + 1]int
	for _, t := range in.state.Tasks() {
		counts[t.State]++
	}
	var b strings.Builder
	for s, n := range counts {
		if n > 0 {
			fmt.Fprintf(&b, "%d %v\n", n, engine.TaskState(s))
		}
	}
	return b.String(), nil
}

// params prints what a task sees: params +task
func (in *interpreter) params(a args, _ Step) (string, error) {
	t := in.find(a.word(0))
	if t == nil {
		return "", fmt.Errorf("no task %q", a.word(0))
	}
	own, loaded := param.Text(in.state.ParamsOf(t.ID)), param.Text(in.mirror.ParamsOf(t.ID))
	if literal := param.Text(LiteralParams(in.state, in.earlier, in.defaults, t)); own != loaded || own != literal {
		return "", fmt.Errorf("params differ\nstep:  %s\napply: %s\nrule:  %s", own, loaded, literal)
	}
	return own, nil
}

// show prints a task's config, export, state params and results: show +task
func (in *interpreter) show(a args, _ Step) (string, error) {
	t := in.find(a.word(0))
	if t == nil {
		return "", fmt.Errorf("no task %q", a.word(0))
	}
	var b strings.Builder
	part := func(name string, m *param.Map) {
		if m.Len() > 0 {
			fmt.Fprintf(&b, "%s %s\n", name, param.Text(m))
		}
	}
	part("config", t.Config)
	part("export", t.Export)
	part("state", t.Progress.Params)
	if o := t.Outcome; o != nil {
		part("exported", o.Exports)
		part("stored", o.Stores)
		part("error", o.Error)
	}
	if b.Len() == 0 {
		return "nothing", nil
	}
	return b.String(), nil
}

// retry prints the waits of a `_retry` value: retry {limit: 3, interval: 5}, and in a file with `zerodag: 1`: retry
// gated 3
func (in *interpreter) retry(_ args, s Step) (string, error) {
	level := 0
	text, gated := strings.CutPrefix(strings.TrimPrefix(s.Command, "retry "), "gated ")
	if gated {
		level = keys.Latest
	}
	v, err := dig.ParseYAML("retry", []byte("v: "+text))
	if err != nil {
		return "", err
	}
	value, _ := v.(*param.Map).Get("v")
	policy, err := engine.ParseRetry(value, level)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	waits := []string{}
	state := param.New()
	for {
		next, wait, ok := policy.Next(state, "1-2-3")
		if !ok {
			return fmt.Sprintf("%d retries %v", len(waits), waits), nil
		}
		waits = append(waits, wait.String())
		state = next
	}
}

func message(t *engine.Task) string {
	if t.Outcome == nil || t.Outcome.Error.Len() == 0 {
		return ""
	}
	m, _ := t.Outcome.Error.Get("message")
	return param.Text(m)
}
