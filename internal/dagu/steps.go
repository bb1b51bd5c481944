package dagu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// step is one step, or several that a list in the list of steps runs side by side.
type step struct {
	*workflow
	*param.Map
	name   string // of its task, without "+"
	id     string // by which others name it
	beside []*step

	depends []*step
	stores  []string // what it stores, as expressions name it
	own     string   // its condition, as an expression; "" for none
	checks  []*param.Map
	visited visit
	all     *string // its whole condition, once it was asked for
	before  string  // the part of that which the steps before it bring
}

// visit says how far the walk is that puts steps into an order.
type visit int

const (
	under visit = iota + 1 // what the step waits for is being looked at
	over
)

// stepKeys are the keys of a step that this package reads.
func stepKeys() []string {
	return []string{"name", "id", "description", "working_dir", "command", "exec", "shell", "script", "stdout", "stderr", "output", "depends", "continue_on", "retry_policy",
		"repeat_policy", "preconditions", "call", "params", "parallel", "env", "timeout_sec", "container", "type", "with", "config", "approval", "value", "routes",
		"llm", "messages", "agent"} // the last ones belong to types that are told as a whole
}

// steps reads the steps, and what each of them stores.
func (w *workflow) steps() []*step {
	v, _ := w.Get("steps")
	steps := w.stepsOf(v, "")
	flat := flattened(steps)
	seen := map[string]bool{}
	for _, s := range flat {
		for seen[s.name] {
			s.name += "_"
		}
		seen[s.name] = true
		s.outputs()
	}
	if len(flat) == len(steps) {
		w.linked(steps)
	}
	w.routes(flat)
	for _, s := range flat {
		own, checks := w.conditions(s.Map, variable(s.id))
		s.own, s.checks = join(s.own, own), checks
	}
	return steps
}

func flattened(steps []*step) (list []*step) {
	for _, s := range steps {
		if s.beside != nil {
			list = append(list, flattened(s.beside)...)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// stepsOf reads a list or a mapping of steps; before is what their names begin with.
func (w *workflow) stepsOf(v param.Value, before string) (steps []*step) {
	add := func(m *param.Map, name string) {
		m = w.merged(m)
		if own := text1(m, "name"); own != "" {
			name = own
		}
		id := text1(m, "id")
		if id == "" {
			id = name
		} else if text1(m, "name") == "" {
			name = id
		}
		if name == "" {
			name = fmt.Sprintf("%sstep%d", before, len(steps)+1)
			id = name
		}
		steps = append(steps, &step{workflow: w, Map: m, name: fileName(name), id: id})
	}
	switch x := v.(type) {
	case *param.Map:
		for name, v := range x.All() {
			if m, isMap := v.(*param.Map); isMap {
				add(m, name)
			} else {
				add(param.New("command", textOf(v)), name)
			}
		}
	case []param.Value:
		for i, e := range x {
			switch e := e.(type) {
			case *param.Map:
				add(e, "")
			case []param.Value:
				name := fmt.Sprintf("%sbeside%d", before, i+1)
				steps = append(steps, &step{workflow: w, Map: param.New(), name: name, id: name, beside: w.stepsOf(e, name+"_")})
			default:
				add(param.New("command", textOf(e)), "")
			}
		}
	}
	return steps
}

// merged is a step with the keys that `defaults` of the workflow give it, and with what its own type stands for.
func (w *workflow) merged(m *param.Map) *param.Map {
	out := w.typedStep(m)
	for key, v := range w.defaults.All() {
		if !out.Has(key) {
			out = w.made(out.Clone(), out)
			out.Set(key, v)
		}
	}
	for _, key := range out.Keys() {
		if remedy := map[string]string{"mail_on_error": "write an `_error` with `mail>`", "signal_on_stop": "commands are asked to end by TERM",
			"worker_selector": "run the server where the commands are to run", "log_output": "", "shell_packages": "install them before"}[key]; remedy != "" {
			w.lost(out, key, remedy, "%s of a step is not taken over", key)
		} else if !slices.Contains(stepKeys(), key) && key != "log_output" {
			w.lost(out, key, "look what it is for, and do it otherwise", "%s of a step is not known", key)
		}
	}
	return out
}

// graph says whether steps wait for those that they name, and not for the one before.
func (w *workflow) graph(steps []*step) bool {
	return text1(w.Map, "type") == "graph" || slices.ContainsFunc(steps, func(s *step) bool { return s.Has("depends") })
}

// linked finds what each step waits for.
func (w *workflow) linked(steps []*step) {
	if !w.graph(steps) {
		for i, s := range steps {
			if i > 0 {
				s.depends = steps[i-1 : i]
			}
		}
		return
	}
	for _, s := range steps {
		for _, name := range texts(s.Map, "depends") {
			other := named(steps, name)
			if other == nil {
				w.lost(s.Map, "depends", "name a step of the workflow", "there is no step %s", name)
				continue
			}
			s.depends = append(s.depends, other)
		}
	}
}

func named(steps []*step, name string) *step {
	for _, s := range steps {
		if s.id == name || text1(s.Map, "name") == name {
			return s
		}
	}
	return nil
}

// routes make conditions at the steps that a router names.
func (w *workflow) routes(steps []*step) {
	for _, s := range steps {
		if text1(s.Map, "type") != "router" {
			continue
		}
		on := w.script(s.Map, "value", text1(s.Map, "value"))
		for pattern, v := range s.Map.Map("routes").All() {
			list, _ := v.([]param.Value)
			for _, e := range list {
				target := named(steps, textOf(e))
				if target == nil {
					w.lost(s.Map, "routes", "name a step of the workflow", "there is no step %s", textOf(e))
					continue
				}
				target.own = join(target.own, fits(on, strings.TrimSpace(pattern)))
				if !slices.Contains(target.depends, s) {
					target.depends = append(target.depends, s)
				}
				target.Map = w.made(target.Map.Clone(), target.Map)
				target.Map.Set("routed", true)
			}
		}
	}
}

// join is a condition of two; either may be "".
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "", a == b, strings.HasPrefix(a, "("+b+") && "), strings.Contains(a, " && ("+b+")"):
		return a
	}
	return "(" + a + ") && (" + b + ")"
}

// condition is whether a step runs: its own one, and those of the steps that it waits for and that would have it skipped.
func (s *step) condition() string {
	if s.all != nil {
		return *s.all
	}
	all := ""
	s.all = &all
	for _, d := range s.depends {
		if !d.continues("skipped") && !d.Has("routed") {
			all = join(all, d.condition())
		}
	}
	s.before = all
	all = join(all, s.own)
	return all
}

// mayBeAbsent says whether what a step stores may not be there for those after it.
func (s *step) mayBeAbsent() bool {
	return s.condition() != "" || s.Has("continue_on") || s.Has("parallel")
}

// conditions are the preconditions of a workflow or a step: an expression, and tasks that find out what it needs. name begins the
// names of what they store.
func (w *workflow) conditions(m *param.Map, name string) (all string, checks []*param.Map) {
	v, _ := m.Get("preconditions")
	if v == nil {
		return "", nil
	}
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for i, e := range list {
		condition, expected, negate := textOf(e), "", false
		if c, isMap := e.(*param.Map); isMap {
			condition, expected = text1(c, "condition"), text1(c, "expected")
			on, _ := c.Get("negate")
			negate = on == true
		}
		stored := fmt.Sprintf("%s_check%d", name, i+1)
		shell, isCommand := asCommand(condition)
		var one string
		switch {
		case isCommand && expected != "":
			checks = append(checks, w.check(stored, shell, w.command(shell)))
			one = fits(stored, expected)
		case expected != "":
			one = fits(w.script(m, "preconditions", condition), expected)
		default:
			if !isCommand {
				shell = condition
			}
			checks = append(checks, w.check(stored, shell, "if { "+w.command(strings.TrimSpace(shell))+"\n} >&2; then echo yes; else echo no; fi"))
			one = stored + " == 'yes'"
		}
		if negate {
			one = "!(" + one + ")"
		}
		all = join(all, one)
	}
	return all, checks
}

// check is a task that finds something out by a command.
func (w *workflow) check(stored, written, command string) *param.Map {
	task := param.New("sh>", command, "_store", param.New(stored, "stdout"))
	if env := w.needed(written, nil); env != nil {
		task.Set("_env", env)
	}
	return task
}

// needed are variables for a command: what it asks its shell for and others have stored, and own ones.
func (w *workflow) needed(text string, own *param.Map) *param.Map {
	env := param.New()
	for _, name := range w.needs(text) {
		env.Set(name, "${"+w.values[name].as+"}")
	}
	for name, v := range own.All() {
		env.Set(name, w.plain(own, name, w.dollars(textOf(v))))
	}
	if env.Len() == 0 {
		return nil
	}
	return env
}

// group is a mapping of all steps. One may only wait for those above it, so they are put into an order in which that holds.
func (w *workflow) group(steps []*step) *param.Map {
	out := param.New()
	if !w.graph(steps) {
		for _, s := range steps {
			out.Set("+"+s.name, s.task())
		}
		return out
	}
	out.Set("_parallel", true)
	for _, s := range w.ordered(steps) {
		task := s.task()
		var after []param.Value
		for _, d := range s.depends {
			after = append(after, "+"+d.name)
		}
		if after != nil {
			task = param.Merge(param.New("_after", after), task)
		}
		out.Set("+"+s.name, task)
	}
	return out
}

func (w *workflow) ordered(steps []*step) (list []*step) {
	var visit func(s *step)
	visit = func(s *step) {
		s.visited = under
		var depends []*step
		for _, d := range s.depends {
			if d.visited == under {
				w.lost(s.Map, "depends", "break the circle", "the step %s waits for %s, which waits for it", s.name, d.name)
				continue
			}
			if depends = append(depends, d); d.visited == 0 {
				visit(d)
			}
		}
		s.depends, s.visited = depends, over
		list = append(list, s)
	}
	for _, s := range steps {
		if s.visited == 0 {
			visit(s)
		}
	}
	return list
}

// continues says whether a step after this one runs whatever came of it.
func (s *step) continues(what string) bool {
	v, _ := s.Get("continue_on")
	if m, isMap := v.(*param.Map); isMap {
		on, _ := m.Get(what)
		if what == "failed" && on == nil {
			on, _ = m.Get("failure")
		}
		return on == true
	}
	return strings.HasPrefix(textOf(v), what[:4])
}

// task is the task of a step: one, or a group of several.
func (s *step) task() *param.Map {
	if s.beside != nil {
		out := param.New("_parallel", true)
		for _, b := range s.beside {
			out.Set("+"+b.name, b.task())
		}
		return out
	}
	task := s.run()
	s.policies(task)
	if len(s.checks) == 0 && !s.Has("approval") {
		if c := s.condition(); c != "" {
			task = param.Merge(param.New("_if", "${"+c+"}"), task)
		}
		return task
	}
	group := param.New()
	if s.condition(); s.before != "" {
		group.Set("_if", "${"+s.before+"}")
	}
	for i, c := range s.checks {
		group.Set(fmt.Sprintf("+check%d", i+1), c)
	}
	if s.own != "" {
		task = param.Merge(param.New("_if", "${"+s.own+"}"), task)
	}
	group.Set("+run", task)
	if s.Has("approval") {
		s.lost(s.Map, "approval", "let a person start what follows, as a workflow of its own", "nobody is asked for approval")
		group.Set("+approval", param.New("fail>", "the step "+s.name+" waits for approval, which is not there"))
	}
	return group
}

// policies are the keys about errors, time and repetition.
func (s *step) policies(task *param.Map) {
	if n := s.whole(s.Map, "timeout_sec"); n > 0 {
		task.Set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	if m := s.Map.Map("retry_policy"); m != nil {
		task.Set("_retry", s.retry(m, dig.OperatorOf(task)))
	}
	if m := s.Map.Map("repeat_policy"); m != nil {
		r := s.repeat(m)
		operator := dig.OperatorOf(task)
		switch {
		case r.Has("exit_code") && dig.RunsNoCommand(operator):
			s.lost(s.Map, "repeat_policy", "write `_retry`, which repeats what fails", "%s> has no exit code that could end the repetition", operator)
		case r != nil:
			task.Set("_repeat", r)
		}
	}
	if v := s.ignored(dig.OperatorOf(task)); v != nil {
		task.Set("_ignore_error", v)
	}
}

// retry is the policy of a step that became a task with an operator, or of the whole workflow, which has none.
func (w *workflow) retry(m *param.Map, operator string) param.Value {
	limit, interval := w.whole(m, "limit"), w.whole(m, "interval_sec")
	if limit < 0 {
		w.lost(m, "limit", "write how often it is tried again", "there is no limit of %d", limit)
		limit = 0
	}
	r := param.New("limit", limit)
	if interval > 0 {
		r.Set("interval", interval)
	}
	w.backoff(m, r)
	switch codes, there := m.Get("exit_code"); {
	case there && dig.FailsWithCode(operator):
		r.Set("exit_code", codesOf(codes))
	case there:
		w.lost(m, "exit_code", "let the command that fails decide whether it is tried again", "there is no command here whose exit code could be looked at")
	}
	if r.Len() == 1 {
		return limit
	}
	return r
}

// codesOf are exit codes as a list, or a number where there is one.
func codesOf(v param.Value) param.Value {
	if list, isList := v.([]param.Value); isList && len(list) == 1 {
		return list[0]
	}
	return v
}

// doubling is the factor of an exponential interval that says none.
const doubling = 2

func (w *workflow) backoff(m, r *param.Map) {
	v, _ := m.Get("backoff")
	factor, err := strconv.ParseFloat(textOf(v), 64)
	switch {
	case v == true:
		factor = doubling
	case v == nil || v == false || err == nil && factor == 0:
		return
	case err != nil || factor < 1 || factor > 100:
		w.lost(m, "backoff", "write a `factor` from 1 to 100", "a factor of %s is not possible", textOf(v))
		factor = doubling
	}
	r.Set("interval_type", "exponential")
	switch whole := int64(factor); {
	case factor == doubling: // which need not be written
	case float64(whole) == factor:
		r.Set("factor", whole)
	default:
		r.Set("factor", factor)
	}
	if n := w.whole(m, "max_interval_sec"); n > 0 {
		r.Set("max_interval", n)
	}
}

func (s *step) repeat(m *param.Map) *param.Map {
	r := param.New()
	word := text1(m, "repeat")
	condition, expected := text1(m, "condition"), text1(m, "expected")
	_, isCommand := asCommand(condition)
	switch {
	case isCommand || condition != "" && expected == "":
		s.lost(m, "condition", "let the step print what the condition needs, take it by `_store`, and name it in `_repeat`", "a command cannot decide whether a step runs again")
		return nil
	case condition != "" && word == "until":
		r.Set("until", "${"+fits(s.script(m, "condition", condition), expected)+"}")
	case condition != "":
		r.Set("while", "${"+fits(s.script(m, "condition", condition), expected)+"}")
	case m.Has("exit_code") && word == "until":
		v, _ := m.Get("exit_code")
		r.Set("exit_code", v)
	case m.Has("exit_code"):
		s.lost(m, "exit_code", "say in `_repeat` with which code a command that is done ends", "exit_code says here which codes end the repetition")
		return nil
	case word == "until":
		r.Set("exit_code", int64(0))
	default:
		r.Set("while", "${true}")
		if !m.Has("limit") {
			s.lost(m, "repeat", "write a `limit`, or a schedule", "a step that never ends is ended after 1000 runs")
		}
	}
	if n := s.whole(m, "interval_sec"); n > 0 {
		r.Set("interval", n)
	}
	s.backoff(m, r)
	if n := s.whole(m, "limit"); n > 0 {
		r.Set("limit", n)
		r.Set("on_limit", "succeed")
	}
	return r
}

// ignored is what `continue_on` says of errors of a step that became a task with an operator, or a group, which has none; nil for nothing.
func (s *step) ignored(operator string) param.Value {
	if s.continues("failed") {
		return true
	}
	v, _ := s.Get("continue_on")
	m, isMap := v.(*param.Map)
	if !isMap {
		return nil
	}
	out := param.New()
	if codes, there := m.Get("exit_code"); there && len(dig.ListOf(codes)) > 0 {
		out.Set("exit_code", codesOf(codes))
	}
	for i, text := range texts(m, "output") {
		if i > 0 {
			s.lost(m, "output", "write them as one expression: `output: /one|another/`", "_ignore_error takes one output")
			break
		}
		if pattern, isPattern := strings.CutPrefix(text, "re:"); isPattern {
			text = "/" + pattern + "/"
		}
		out.Set("output", text)
	}
	for _, key := range dig.NeverIgnored(operator) {
		if out.Has(key) {
			s.lost(m, key, "write `message` into `_ignore_error`, with a part of the error's message", "%s is that of a command, and there is none here", key)
			out.Delete(key)
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out
}
