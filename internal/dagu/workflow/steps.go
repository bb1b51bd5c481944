package workflow

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/kinds"
	"zerodag/internal/dagu/sequence"
	"zerodag/internal/dagu/tasks"
	"zerodag/internal/dagu/written"
)

// steps reads the steps and the values that each of them stores.
func (w *Workflow) steps() []*tasks.Step {
	v, _ := w.Get("steps")
	steps := w.stepsOf(v)
	flat := flattened(steps)
	w.linked(steps)
	for _, s := range flat {
		w.On(s.Node, s.Outputs)
	}
	w.routes(flat)
	for _, s := range flat {
		w.On(s.Node, func() {
			s.Conditions(document.Variable(s.Name))
		})
	}
	return steps
}

// flattened lists the steps, including those in nested lists.
func flattened(steps []*tasks.Step) (list []*tasks.Step) {
	for _, s := range steps {
		if s.Beside != nil {
			list = append(list, flattened(s.Beside)...)
		} else {
			list = append(list, s)
		}
	}
	return list
}

func nodesOf(steps []*tasks.Step) []*sequence.Node {
	list := make([]*sequence.Node, len(steps))
	for i, s := range steps {
		list[i] = s.Node
	}
	return list
}

// stepsOf reads a list or a mapping of steps.
func (w *Workflow) stepsOf(v param.Value) (steps []*tasks.Step) {
	taken := map[string]bool{}
	var read func(v param.Value, within int) []*tasks.Step
	read = func(v param.Value, within int) (steps []*tasks.Step) {
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
					add(w.Made(param.New("command", v), x), name)
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
						steps = append(steps, &tasks.Step{Translator: w.Translator,
							Node: &sequence.Node{Map: param.New(), Name: name, ID: name, Extra: param.New()}, Beside: beside})
					}
				default:
					add(w.Made(param.New("command", e), w.Map), "")
				}
			}
		}
		return steps
	}
	return read(v, 0)
}

// stepOf reads one step, which is entry number `at` of its list.
func (w *Workflow) stepOf(m *param.Map, name string, at int, taken map[string]bool) *tasks.Step {
	s := &tasks.Step{Translator: w.Translator, Node: &sequence.Node{Extra: param.New()}, Ruled: param.New()}
	w.Every = append(w.Every, s.Node)
	w.On(s.Node, func() { s.Map = w.forms.Merged(m) })
	if own := strings.TrimSpace(document.Text(s.Map, "name")); own != "" {
		name = own
	}
	s.ID = strings.TrimSpace(document.Text(s.Map, "id"))
	if name == "" {
		name = s.ID
	}
	if s.ID == "" {
		s.ID = name
	}
	s.Called = name
	if name == "" {
		s.Called = w.generated(s, document.Text(m, "action")+document.Text(m, "type"), at, taken)
	}
	if s.ID == "" {
		s.ID = s.Called
	}
	s.Name = document.Unique(taken, document.TaskName(s.Called, fmt.Sprintf("step%d", at)))
	return s
}

// generated returns the name that Dagu gives to a nameless step: its kind and its place in the list.
func (w *Workflow) generated(s *tasks.Step, written string, at int, taken map[string]bool) string {
	prefix := kindOf(s)
	if w.Map.Map("actions").Has(written) || w.Map.Map("step_types").Has(written) {
		prefix = written
	}
	for ; ; at++ {
		if name := fmt.Sprintf("%s_%d", prefix, at); !taken[name] {
			return name
		}
	}
}

// kindOf returns a step's kind as Dagu writes it in the name.
func kindOf(s *tasks.Step) string {
	kind, _, _ := strings.Cut(document.Text(s.Map, "type"), ".")
	commands, _ := s.Get("command")
	_, isList := commands.([]param.Value)
	switch {
	case s.Has("foreach"):
		return "foreach"
	case s.Has("parallel"):
		return "parallel"
	case s.Has("call"):
		return "dag"
	case s.Has("container"):
		return "docker"
	case kind != "" && kind != "exec":
		return kind
	case document.Text(s.Map, "script") != "" || strings.Contains(document.TextOf(commands), "\n"):
		return "script"
	case isList || document.TextOf(commands) != "" || s.Has("exec"):
		return "cmd"
	}
	return "step"
}

// routes adds conditions to the steps that a router names.
func (w *Workflow) routes(steps []*tasks.Step) {
	nodes := nodesOf(steps)
	for _, s := range steps {
		if document.Text(s.Map, "type") != "router" {
			continue
		}
		w.On(s.Node, func() {
			on := w.Script(s.Map, "value", document.Text(s.Map, "value"))
			for pattern, v := range s.Map.Map("routes").All() {
				for _, e := range keys.ListOf(v) {
					target := sequence.Named(nodes, document.TextOf(e))
					if target == nil {
						w.Refuse(s.Map, "routes", "name a step of the workflow", "unknown step %s", document.TextOf(e))
						continue
					}
					target.Own = sequence.Join(target.Own,
						w.Fits(s.Map, on, strings.TrimSpace(pattern), w.SeveralLines(document.Text(s.Map, "value"))))
					if !slices.Contains(target.Depends, s.Node) {
						target.Depends = append(target.Depends, s.Node)
					}
					target.Map.Set("routed", true)
				}
			}
		})
	}
}

// task returns the task for a step: a single task, or a group of several.
func (w *Workflow) task(s *tasks.Step) (task *param.Map) {
	if s.Beside != nil {
		out := param.New("_parallel", true)
		for _, b := range s.Beside {
			out.Set("+"+b.Name, w.task(b))
		}
		return out
	}
	w.On(s.Node, func() { task = w.single(s) })
	if s.Called != s.Name && s.Called != s.ID && !strings.HasPrefix(s.Called, s.Name) ||
		document.Latin(s.Called) != s.Called {
		task = param.Merge(param.New(written.Comment, "in Dagu: "+s.Called), task)
	}
	return task
}

// single returns the task for one step, with its policies and conditions.
func (w *Workflow) single(s *tasks.Step) *param.Map {
	task := w.run(s)
	s.Policies(task)
	checks := s.Checks
	if s.Refusal != "" {
		task, checks = failing(s.Refusal), nil
	}
	if len(checks) == 0 && (s.Refusal != "" || !s.Has("approval")) {
		c := s.Condition()
		if s.Refusal != "" {
			c = s.Before // the step's own condition may be the part that was refused
		}
		if c != "" {
			task = param.Merge(param.New("_if", "${"+c+"}"), task)
		}
		return task
	}
	group := param.New()
	if s.Condition(); s.Before != "" {
		group.Set("_if", "${"+s.Before+"}")
	}
	for i, c := range checks {
		group.Set(fmt.Sprintf("+check%d", i+1), c)
	}
	if s.Own != "" {
		task = param.Merge(param.New("_if", "${"+s.Own+"}"), task)
	}
	group.Set("+run", task)
	if s.Has("approval") {
		s.Lost(s.Map, "approval", "move the following steps to a separate workflow that is started manually", "approvals are not supported")
		group.Set("+approval", param.New("fail>", "the step "+s.Name+" waits for approval, which is not supported"))
		s.Refusal = "it waits for approval"
	}
	return group
}

// run returns the task for a step, without its policies.
func (w *Workflow) run(s *tasks.Step) *param.Map {
	if s.Has("foreach") {
		return loop{s, w}.task()
	}
	return kinds.Task(s)
}
