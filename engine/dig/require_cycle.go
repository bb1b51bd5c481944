package dig

import (
	"iter"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Requires follows require> from workflow to workflow of a project, and reads each file once.
type Requires struct {
	read Source
	of   map[string][]string // the workflows that a workflow waits for
}

// NewRequires returns a Requires that has not read any files yet.
func NewRequires(read Source) *Requires { return &Requires{read: read, of: map[string][]string{}} }

// Faults returns a workflow's tasks that wait for the end of a session that in turn waits for the end of this one. Only
// tasks that always run count: a task below an if>, a loop or an _error may never run.
func (r *Requires) Faults(name string, config *param.Map) (list []Problem) {
	for path, task := range certainTasks(config) {
		required := requiredHere(task)
		if required == "" {
			continue
		}
		way := r.way(required, name)
		if way == nil {
			continue
		}
		e := Error{Message: "require> waits for its own workflow, so it never ends", Hint: "name a different workflow, or a different session with session_time"}
		if len(way) > 1 {
			e = Error{Message: "require> never ends: " + strings.Join(append([]string{name}, way...), " -> "),
				Hint: "remove one of them, or let it require a different session with session_time: each waits for the next"}
		}
		_, key, _ := keys.Operator(task)
		list = append(list, Problem{Path: append(slices.Clone(path), key), Error: e})
	}
	return list
}

// way returns the chain of workflows from one to another along require>, including both; nil if there is none.
func (r *Requires) way(from, to string) []string {
	seen := map[string]bool{}
	var walk func(name string) []string
	walk = func(name string) []string {
		if name == to {
			return []string{name}
		}
		if seen[name] || len(seen) >= MostCalls {
			return nil
		}
		seen[name] = true
		for _, next := range r.requiredBy(name) {
			if rest := walk(next); rest != nil {
				return append([]string{name}, rest...)
			}
		}
		return nil
	}
	return walk(from)
}

// requiredBy returns the workflows that one requires, directly or in files that it calls; none if it cannot be read.
func (r *Requires) requiredBy(name string) []string {
	list, known := r.of[name]
	if known {
		return list
	}
	files, seen := []string{name + Suffix}, map[string]bool{}
	for len(files) > 0 && len(seen) < MostCalls {
		file := files[0]
		if files = files[1:]; seen[file] {
			continue
		}
		seen[file] = true
		raw, err := LoadFile(r.read, file)
		if err != nil {
			continue // reported when that file is checked
		}
		files = append(files, Callees(FolderOf(file), raw)...)
		for _, task := range certainTasks(raw) {
			if required := requiredHere(task); required != "" {
				list = append(list, required)
			}
		}
	}
	r.of[name] = list
	return list
}

// requiredHere returns the workflow of this project whose session at the same time a task requires; "" if it requires
// none, or if that is only known when it runs.
func requiredHere(task *param.Map) string {
	operator, _, command := keys.Operator(task)
	name, _ := command.(string)
	if operator != "require" || strings.Contains(name, "${") || task.Has("project_name") || task.Has("project_id") {
		return ""
	}
	if at, _ := task.Value("session_time").(string); task.Has("session_time") && at != "${session_time}" {
		return ""
	}
	return name
}

// certainTasks returns a file's tasks that always run, with the keys that lead to them.
func certainTasks(config *param.Map) iter.Seq2[[]string, *param.Map] {
	return func(yield func([]string, *param.Map) bool) { walkStatic(nil, config, yield) }
}

func walkStatic(path []string, config *param.Map, yield func([]string, *param.Map) bool) bool {
	if off, err := param.AsBool("_disable", config.Value("_disable")); err == nil && off || config.Has("_if") {
		return true
	}
	if keys.OperatorOf(config) != "" {
		return yield(path, config)
	}
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			continue
		}
		if list, isList := v.([]param.Value); isList {
			v = keys.Overlaid(list)
		}
		if sub, ok := v.(*param.Map); ok && !walkStatic(append(slices.Clone(path), key), sub, yield) {
			return false
		}
	}
	return true
}

// requireFaults returns a workflow's faults that keep a project from being pushed. In a file without `zerodag: 1` they
// are only warnings, since Digdag accepts them.
func requireFaults(r *Requires, w Workflow) []Problem {
	if language, _ := keys.Gate(w.Config); language.Level == 0 {
		return nil
	}
	list := r.Faults(w.Name, w.Config)
	for i := range list {
		list[i].Task = TaskOf(w.Name, list[i].Path)
	}
	return list
}

// TaskOf returns the full name of a task from the keys that lead to its operator.
func TaskOf(workflow string, path []string) string {
	return "+" + workflow + strings.Join(path[:len(path)-1], "")
}
