package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// body returns the tasks: the setup, the steps, and the tasks that run after the steps succeed.
func (w *Workflow) body(steps []*tasks.Step, on map[string]*tasks.Step) *param.Map {
	condition, checks := tasks.Conditions{Translator: w.Translator, Of: w.Map, Before: w.prelude}.Expression("whole")
	var init *param.Map
	if on["init"] != nil {
		init = onlyIf(condition, w.handler(on["init"], "init"))
	}
	group := onlyIf(condition, w.group(steps))
	last := w.last(steps, on, condition)
	first := w.first(checks, init)
	switch {
	case w.apart(on):
		group = param.New("+steps", param.Merge(param.New("_error", w.handler(on["failure"], "failure")), group))
	case first.Len()+last.Len() == 0 && (condition == "" || len(on) == 0): // handlers run even if no step does
		return group
	case group.Has("_parallel") || condition != "" || clash(group, first) || clash(group, last):
		group = param.New("+steps", group)
	}
	return param.Merge(param.Merge(first, group), last)
}

// onlyIf returns a task that runs under a condition, which may be "".
func onlyIf(condition string, task *param.Map) *param.Map {
	if condition == "" {
		return task
	}
	return param.Merge(param.New("_if", "${"+condition+"}"), task)
}

// last returns the tasks that run after the steps have succeeded.
func (w *Workflow) last(steps []*tasks.Step, on map[string]*tasks.Step, condition string) *param.Map {
	last := param.New()
	if on["success"] != nil {
		task := w.handler(on["success"], "success")
		if none := w.noSuccess(steps); none != "" {
			task = param.New("_if", "${!("+none+")}", "+run", task)
		}
		last.Set("+success", onlyIf(condition, task))
	}
	if w.Partial != "" {
		last.Set("+"+document.Unique(taskNames(steps), "ignored"), onlyIf(condition, w.partly(w.Partial)))
	}
	if on["failure"] != nil && w.noSuccess(steps) != "" {
		w.Note(w.Map, "handler_on", "move the handler to the steps", false,
			"the failure handler does not run if all errors were ignored; in Dagu it runs if no step succeeded")
	}
	return last
}

// first returns the tasks before the steps: the tasks that the steps need, the workflow's conditions, and its init
// handler, which is nil if there is none.
func (w *Workflow) first(checks []*param.Map, init *param.Map) *param.Map {
	first := param.New()
	if w.Used[references.Artifacts] {
		script := "mkdir -p \"$DAG_RUN_ARTIFACTS_DIR\""
		if w.Used[references.RunLog] {
			script += "\necho " + references.Literal(references.ShellWord("run of "+w.Called())) +
				" >> \"$DAG_RUN_ARTIFACTS_DIR" + references.RunLog + "\"\n"
		}
		first.Set("+artifacts", param.New("sh>", script))
	}
	if w.secrets.Len() > 0 { // a missing secret ends the run before its first step
		first.Set("+secrets", param.New("sh>", ":"))
	}
	if n := w.Whole(w.Map, "delay_sec"); n > 0 {
		first.Set("+delay", param.New("wait>", strconv.FormatInt(n, 10)+"s"))
	}
	for name, script := range w.found.All() { // a value that was passed takes precedence
		first.Set("+param_"+name, param.New("_if", "${!this."+name+"}", "sh>", script))
	}
	if len(w.finders)+w.found.Len() > 0 {
		w.Outside(w.Map, "container", "a command that computes a value")
	}
	if len(w.finders) > 0 {
		first.Set("+env", param.New("sh>", strings.Join(w.Exports, "")+strings.Join(w.finders, "")))
	}
	for i, check := range checks {
		first.Set(fmt.Sprintf("+check%d", i+1), check)
	}
	if init != nil {
		first.Set("+init", init)
	}
	return first
}

// handlerSteps returns the steps of `handler_on` by handler.
func (w *Workflow) handlerSteps() map[string]*tasks.Step {
	steps := map[string]*tasks.Step{}
	on := w.Map.Map("handler_on")
	for name := range on.All() {
		m := on.Map(name)
		if m == nil {
			m = w.Made(param.New("command", document.Text(on, name)), on)
		}
		steps[name] = w.stepOf(m, name, 1, map[string]bool{})
		steps[name].Name = name
		steps[name].Called = name
	}
	return steps
}

// handlers adds the tasks of `handler_on` that are keys of the file.
func (w *Workflow) handlers(steps map[string]*tasks.Step, out *param.Map) {
	on := w.Map.Map("handler_on")
	for name := range on.All() {
		key := map[string]string{"failure": "_error", "exit": "_finally", "abort": "_cancel", "cancel": "_cancel"}[name]
		switch {
		case name == "init", name == "success", name == "failure" && w.apart(steps):
		case key == "":
			steps[name].Refusal = "handlers are not supported for " + name
			w.Lost(on, name, "tasks do not wait for people", "handlers for %s are not supported", name)
		default:
			out.Set(key, w.handler(steps[name], name))
		}
	}
}

// handler returns the task for a handler.
func (w *Workflow) handler(s *tasks.Step, name string) *param.Map {
	w.Handles = name
	w.On(s.Node, s.Outputs)
	w.On(s.Node, func() { s.Conditions("on_" + name) })
	task := w.task(s)
	w.Handles = ""
	return task
}

// prelude returns the shell lines that precede the command of a workflow condition.
func (w *Workflow) prelude() string {
	before := strings.Join(w.Exports, "")
	if folder := strings.TrimSpace(document.Text(w.Map, "working_dir")); folder != "" {
		before += w.Into(w.Map, folder)
	}
	return before
}

// apart reports whether the failure handler belongs to the group that contains the steps: in Dagu, it does not run if
// the init or success handler fails, or if the run only partially succeeds. A workflow's time limit does not end a
// group with an error, so a workflow with a time limit has the handler at its top level.
func (w *Workflow) apart(on map[string]*tasks.Step) bool {
	return (on["success"] != nil || on["init"] != nil || w.Partial != "") && on["failure"] != nil &&
		!w.Map.Has("timeout_sec")
}

func taskNames(steps []*tasks.Step) map[string]bool {
	taken := map[string]bool{}
	for _, s := range flattened(steps) {
		taken[s.Name] = true
	}
	return taken
}

func clash(a, b *param.Map) bool { return slices.ContainsFunc(b.Keys(), a.Has) }

// ignoring returns the condition under which a step failed with an ignored error; "" if no step can end the run that
// way.
func (w *Workflow) ignoring(steps []*tasks.Step) string {
	var all []string
	for _, s := range flattened(steps) {
		if s.Refusal == "" && s.Ignores() && s.EndsRun() {
			all = append(all, s.HasFailed())
		}
	}
	return strings.Join(all, " || ")
}

// noSuccess returns the condition that every step failed, which fails the run in Dagu although all errors were ignored;
// "" if a step succeeds in each run that continues, or if it depends on conditions.
func (w *Workflow) noSuccess(steps []*tasks.Step) string {
	var all []string
	for _, s := range flattened(steps) {
		if s.Refusal != "" || !s.Ignores() || !s.EndsRun() || s.Condition() != "" {
			return ""
		}
		all = append(all, s.HasFailed())
	}
	return strings.Join(all, " && ")
}

// partly returns the task that fails after an ignored error. It does nothing in a called workflow, because the caller
// continues after it.
func (w *Workflow) partly(condition string) *param.Map {
	return param.New("_if", "${task_name.split('+').length == 3 && ("+condition+")}",
		"fail>", "a step failed, and continue_on ignored it: as in Dagu, the run ends with exit code 1")
}
