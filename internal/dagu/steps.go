package dagu

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// step is one step, or several that a list in the list of steps runs side by side.
type step struct {
	*workflow
	*param.Map
	name   string // of its task, without "+"
	called string // its name in Dagu
	id     string // by which others name it
	beside []*step
	within *step // the `foreach` that it is a step of; nil for none

	depends []*step
	stores  []string   // what it stores, as expressions name it
	ruled   *param.Map // by that name, the rules for values of its command, and fixed values
	own     string     // its condition, as an expression; "" for none
	checks  []*param.Map
	visited visit
	all     *string // its whole condition, once it was asked for
	before  string  // the part of that which the steps before it bring

	refusal string // why it must not run; "" where it may
	changed bool   // a note is about it
	extra   *param.Map
	// inFolder is true if the command needs the variable for the folder of the run.
	inFolder bool
}

// visit says how far the walk is that puts steps into an order.
type visit int

const (
	under visit = iota + 1 // what the step waits for is being looked at
	over
)

// on runs do with s as the current step, to which notes and refusals belong.
func (w *workflow) on(s *step, do func()) {
	previous := w.current
	w.current = s
	do()
	w.current = previous
}

// steps reads the steps, and what each of them stores.
func (w *workflow) steps() []*step {
	v, _ := w.Get("steps")
	steps := w.stepsOf(v)
	flat := flattened(steps)
	w.linked(steps)
	for _, s := range flat {
		w.on(s, s.outputs)
	}
	w.routes(flat)
	for _, s := range flat {
		w.on(s, func() {
			own, checks := w.conditions(s.Map, variable(s.name))
			s.own, s.checks = join(s.own, own), checks
		})
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

// stepsOf reads a list or a mapping of steps.
func (w *workflow) stepsOf(v param.Value) (steps []*step) {
	taken := map[string]bool{}
	var read func(v param.Value, within int) []*step
	read = func(v param.Value, within int) (steps []*step) {
		add := func(m *param.Map, name string) {
			at := within
			if at == 0 {
				at = len(steps) + 1
			}
			steps = append(steps, w.stepOf(m, name, at, taken))
		}
		switch x := v.(type) {
		case *param.Map:
			for name, v := range x.All() {
				if m, isMap := v.(*param.Map); isMap {
					add(m, name)
				} else {
					add(w.made(param.New("command", v), x), name)
				}
			}
		case []param.Value:
			for i, e := range x {
				switch e := e.(type) {
				case *param.Map:
					add(e, "")
				case []param.Value:
					name := fmt.Sprintf("beside%d", i+1)
					if beside := read(e, i+1); beside != nil {
						steps = append(steps, &step{workflow: w, Map: param.New(), name: name, id: name, beside: beside, extra: param.New()})
					}
				default:
					add(w.made(param.New("command", e), w.Map), "")
				}
			}
		}
		return steps
	}
	return read(v, 0)
}

// stepOf reads one step, the entry number `at` of its list.
func (w *workflow) stepOf(m *param.Map, name string, at int, taken map[string]bool) *step {
	s := &step{workflow: w, extra: param.New(), ruled: param.New()}
	w.every = append(w.every, s)
	w.on(s, func() { s.Map = w.merged(m) })
	if own := strings.TrimSpace(text1(s.Map, "name")); own != "" {
		name = own
	}
	s.id = strings.TrimSpace(text1(s.Map, "id"))
	if name == "" {
		name = s.id
	}
	if s.id == "" {
		s.id = name
	}
	s.called = name
	if name == "" {
		s.called = s.generated(text1(m, "action")+text1(m, "type"), at, taken)
	}
	if s.id == "" {
		s.id = s.called
	}
	s.name = unique(taken, taskName(s.called, fmt.Sprintf("step%d", at)))
	return s
}

// generated returns the name that Dagu gives to a nameless step: its kind and its place in the list.
func (s *step) generated(written string, at int, taken map[string]bool) string {
	kind, _, _ := strings.Cut(text1(s.Map, "type"), ".")
	commands, _ := s.Get("command")
	_, isList := commands.([]param.Value)
	prefix := "step"
	switch {
	case s.workflow.Map.Map("actions").Has(written) || s.workflow.Map.Map("step_types").Has(written):
		prefix = written
	case s.Has("foreach"):
		prefix = "foreach"
	case s.Has("parallel"):
		prefix = "parallel"
	case s.Has("call"):
		prefix = "dag"
	case s.Has("container"):
		prefix = "docker"
	case kind != "" && kind != "exec":
		prefix = kind
	case text1(s.Map, "script") != "" || strings.Contains(textOf(commands), "\n"):
		prefix = "script"
	case isList || textOf(commands) != "" || s.Has("exec"):
		prefix = "cmd"
	}
	for ; ; at++ {
		if name := fmt.Sprintf("%s_%d", prefix, at); !taken[name] {
			return name
		}
	}
}

// merged returns a step in one form, with the `defaults` of the workflow and its own type filled in.
func (w *workflow) merged(m *param.Map) *param.Map {
	out := w.made(w.typedStep(m).Clone(), m)
	for key, v := range w.defaults.All() {
		own, there := out.Get(key)
		switch {
		case !there:
			out.Set(key, v)
		case key == "env" || key == "preconditions": // both count, those of the workflow first
			out.Set(key, append(slices.Clone(keys.ListOf(v)), keys.ListOf(own)...))
		}
	}
	w.looked(out, stepKeys(), " of a step")
	w.placed(out)
	w.modern(out)
	return out
}

// placed refuses a step or a workflow with `worker_selector`: its commands must not run on any other machine.
func (w *workflow) placed(m *param.Map) {
	if v, there := m.Get("worker_selector"); there && v != "local" {
		if labels, isMap := v.(*param.Map); !isMap || labels.Len() > 0 {
			w.refuse(m, "worker_selector", runThere, "worker_selector chooses a machine for the command, which has no counterpart here")
		}
	}
}

// order is how steps follow one another.
type order int

const (
	chained order = iota + 1 // each waits for the one before
	graph                    // each waits for the steps that it names
	both                     // each waits for the one before and for the steps that it names
)

// order returns the order of the workflow. Without `type`, Dagu ran steps one after the other until it introduced `run` and `action`,
// and runs them side by side since.
func (w *workflow) order(steps []*step) order {
	flat := flattened(steps)
	depends := slices.ContainsFunc(flat, func(s *step) bool { return s.Has("depends") || s.Has("routed") })
	switch kind := text1(w.Map, "type"); {
	case kind == "graph":
		return graph
	case kind == "chain" && depends:
		return both
	case kind == "chain":
		return chained
	case w.today:
		return graph
	case depends && len(flat) > len(steps):
		w.note(w.Map, "steps", "translate it with `--release 2.15` for the other order", false, "the workflow has no `type`: each step waits for the step above it and for its `depends`, as in Dagu from 1.17 to 2.6; today it waits only for `depends`")
		return both
	case depends:
		if slices.ContainsFunc(flat[1:], func(s *step) bool { return len(texts(s.Map, "depends")) == 0 && !s.Has("routed") }) {
			w.note(w.Map, "steps", "add `depends` where a step must wait", false, "the workflow has no `type`: steps without `depends` start at once, as in Dagu today; from 1.17 to 2.6 they waited for the step above")
		}
		return graph
	}
	if len(flat) > 1 && len(steps) > 1 {
		for _, s := range flat[1:] {
			s.changed = true
		}
		w.note(w.Map, "steps", "translate it with `--release 2.15` if today's Dagu runs it", false, "the workflow has no `type`: its steps run one after the other, as in Dagu before 2.7, instead of side by side")
	}
	return chained
}

// linked finds what each step waits for.
func (w *workflow) linked(steps []*step) {
	order := w.order(steps)
	flat := flattened(steps)
	if order != graph {
		var before []*step
		for _, s := range steps {
			now := flattened([]*step{s})
			for _, one := range now {
				one.depends = slices.Clone(before)
			}
			before = now
		}
	}
	for _, s := range flat {
		w.on(s, func() {
			for _, name := range texts(s.Map, "depends") {
				switch other := stepNamed(flat, name); {
				case other == nil:
					w.refuse(s.Map, "depends", "name a step of the workflow", "there is no step %s", name)
				case !slices.Contains(s.depends, other):
					s.depends = append(s.depends, other)
				}
			}
		})
	}
}

func stepNamed(steps []*step, name string) *step {
	for _, s := range steps {
		if s.id == name || s.called == name {
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
		w.on(s, func() {
			on := w.script(s.Map, "value", text1(s.Map, "value"))
			for pattern, v := range s.Map.Map("routes").All() {
				for _, e := range keys.ListOf(v) {
					target := stepNamed(steps, textOf(e))
					if target == nil {
						w.refuse(s.Map, "routes", "name a step of the workflow", "there is no step %s", textOf(e))
						continue
					}
					target.own = join(target.own, w.fits(s.Map, on, strings.TrimSpace(pattern), w.severalLines(text1(s.Map, "value"))))
					if !slices.Contains(target.depends, s) {
						target.depends = append(target.depends, s)
					}
					target.Map.Set("routed", true)
				}
			}
		})
	}
}

// follows reports whether the step waits for another step, directly or not.
func (s *step) follows(other *step) bool {
	seen := map[*step]bool{}
	var after func(of *step) bool
	after = func(of *step) bool {
		if seen[of] {
			return false
		}
		seen[of] = true
		return slices.ContainsFunc(of.depends, func(d *step) bool { return d == other || after(d) })
	}
	return after(s) || s.within != nil && s.within.follows(other)
}

// group is a mapping of all steps. One may only wait for those above it, so they are put into an order in which that holds.
func (w *workflow) group(steps []*step) *param.Map {
	out := param.New()
	if w.order(steps) == chained {
		for _, s := range steps {
			out.Set("+"+s.name, s.task())
		}
		return out
	}
	out.Set("_parallel", true)
	for _, s := range w.ordered(flattened(steps)) {
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
				w.on(s, func() {
					w.refuse(s.Map, "depends", "break the circle", "the step %s waits for %s, which waits for it", s.name, d.name)
				})
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

// task is the task of a step: one, or a group of several.
func (s *step) task() (task *param.Map) {
	if s.beside != nil {
		out := param.New("_parallel", true)
		for _, b := range s.beside {
			out.Set("+"+b.name, b.task())
		}
		return out
	}
	s.on(s, func() { task = s.single() })
	if s.called != s.name && s.called != s.id && !strings.HasPrefix(s.called, s.name) || latin(s.called) != s.called {
		task = param.Merge(param.New(comment, "in Dagu: "+s.called), task)
	}
	return task
}

// failing returns a task that fails with a reason.
func failing(reason string) *param.Map {
	return param.New("fail>", "not translated from Dagu: "+literal(reason))
}

// stopped returns a tree of tasks with every operator replaced by a failure.
func (w *workflow) stopped(tree *param.Map) *param.Map {
	out := param.New()
	if keys.OperatorOf(tree) != "" {
		out = failing(w.refusal)
	}
	for key, v := range tree.All() {
		m, isMap := v.(*param.Map)
		switch {
		case isMap && (strings.HasPrefix(key, "+") || slices.Contains([]string{"_error", "_finally", "_cancel"}, key)):
			out.Set(key, w.stopped(m))
		case key == "_after" || key == "_parallel" && keys.OperatorOf(tree) == "" || key == comment:
			out = param.Merge(param.New(key, v), out)
		}
	}
	return out
}

func (s *step) single() *param.Map {
	task := s.run()
	s.policies(task)
	checks := s.checks
	if s.refusal != "" {
		task, checks = failing(s.refusal), nil
	}
	if len(checks) == 0 && (s.refusal != "" || !s.Has("approval")) {
		c := s.condition()
		if s.refusal != "" {
			c = s.before // the own condition may be the part that was refused
		}
		if c != "" {
			task = param.Merge(param.New("_if", "${"+c+"}"), task)
		}
		return task
	}
	group := param.New()
	if s.condition(); s.before != "" {
		group.Set("_if", "${"+s.before+"}")
	}
	for i, c := range checks {
		group.Set(fmt.Sprintf("+check%d", i+1), c)
	}
	if s.own != "" {
		task = param.Merge(param.New("_if", "${"+s.own+"}"), task)
	}
	group.Set("+run", task)
	if s.Has("approval") {
		s.lost(s.Map, "approval", "let a person start what follows, as a workflow of its own", "nobody is asked for approval")
		group.Set("+approval", param.New("fail>", "the step "+s.name+" waits for approval, which is not there"))
		s.refusal = "it waits for approval"
	}
	return group
}
