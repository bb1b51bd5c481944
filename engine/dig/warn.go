package dig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// Warnings lists what is allowed but will most likely surprise: text that the language
// accepts and then ignores or reads in another way than one would think, operators that
// nobody knows, and files and workflows that are named and missing. names are the
// workflow files, operators all operators that exist.
func Warnings(read Source, names, operators []string) Errors {
	var all Errors
	for _, name := range slices.Sorted(slices.Values(names)) {
		p := newProject(read)
		raw := p.file(name)
		if raw == nil || p.lost {
			continue // Load says what is wrong
		}
		w := &watcher{read: read, names: names, operators: operators}
		w.workflow("+"+workflowName(name), raw)
		p.errs = nil
		p.locate(name, raw, w.found)
		all = append(all, p.errs...)
	}
	return all
}

// watcher walks one workflow.
type watcher struct {
	read      Source
	names     []string
	operators []string
	found     []problem
}

func (w *watcher) add(at []string, task, message, hint string) {
	w.found = append(w.found, problem{path: slices.Clone(at), Error: Error{Task: task, Message: message, Hint: hint}})
}

func (w *watcher) workflow(task string, raw *param.Map) {
	if raw.Has("_check") {
		w.add([]string{"_check"}, task, "_check of a workflow is never run", "put it on a task")
	}
	if s := raw.Map("schedule"); s != nil {
		w.schedule(s, task)
	}
	w.children(nil, task, raw, false)
	if n := countTasks(raw) + 1; n > crowded {
		w.add(nil, task, fmt.Sprintf("the workflow has %d tasks", n),
			"an attempt may have 1000, with those that loops generate: split it with call> and require>, or raise executor.task_max_run")
	}
}

// crowded is how many static tasks leave no room for generated ones.
const crowded = 900

func countTasks(m *param.Map) int {
	n := 0
	for k, v := range m.All() {
		if sub, ok := v.(*param.Map); ok && strings.HasPrefix(k, "+") {
			n += 1 + countTasks(sub)
		}
	}
	return n
}

func (w *watcher) schedule(s *param.Map, task string) {
	at := []string{"schedule"}
	if v, ok := s.Get("minutes_interval>"); ok {
		if n, isInt := v.(int64); isInt && (n >= 60 || n > 0 && 60%n != 0) {
			w.add(append(at, "minutes_interval>"), task, fmt.Sprintf("minutes_interval>: %d starts anew at every full hour", n),
				"use a divisor of 60, or cron>")
		}
	}
	for _, kind := range []string{"daily>", "hourly>", "weekly>", "monthly>"} {
		if v, _ := s.Get(kind); v != nil {
			text := fmt.Sprint(v)
			if strings.Contains(text, "-") || outOfClock(text, kind == "hourly>") {
				w.add(append(at, kind), task, fmt.Sprintf("%s: %s is no time of day: it is added as it is to the start of the period", kind, text), "")
			}
		}
	}
}

// outOfClock says whether a field of a time is more than a clock shows.
func outOfClock(text string, minutesFirst bool) bool {
	_, after, found := strings.Cut(text, ",")
	if !found {
		after = text
	}
	for i, field := range strings.Split(after, ":") {
		var n int
		if _, err := fmt.Sscanf(field, "%d", &n); err != nil {
			return false
		}
		limit := 60
		if i == 0 && !minutesFirst {
			limit = 24
		}
		if n >= limit {
			return true
		}
	}
	return false
}

// children looks at the tasks of a group. retried says that a group above is tried again.
func (w *watcher) children(at []string, task string, group *param.Map, retried bool) {
	parallel, _ := group.Get("_parallel")
	first := true
	for k, v := range group.All() {
		config, ok := v.(*param.Map)
		if !ok || !strings.HasPrefix(k, "+") {
			continue
		}
		here := append(slices.Clone(at), k)
		if b, _ := config.Get("_background"); !first && isTrue(b) {
			w.add(append(here, "_background"), task+k, "a _background task does not wait for the tasks before it", "start it by _parallel in a group of its own if it must")
		}
		first = false
		w.task(here, task+k, config, retried)
	}
	if m, ok := parallel.(*param.Map); ok && m.Has("limit") {
		w.add(append(slices.Clone(at), "_parallel"), task, "_parallel with a limit runs chunks: each waits for the whole one before", "")
	}
}

func isTrue(v param.Value) bool { return v == true || v == "true" }

func (w *watcher) task(at []string, task string, config *param.Map, retried bool) {
	if v, ok := config.Get("_disable"); ok && isTrue(v) {
		return
	}
	for k, v := range config.All() {
		if text, ok := v.(string); ok {
			w.template(append(slices.Clone(at), k), task, text)
		}
	}
	if name, command, ok := operatorOf(config); ok {
		w.operator(at, task, name, command)
		if do := config.Map("_do"); do != nil {
			w.body(append(slices.Clone(at), "_do"), task, do)
		}
		return
	}
	if config.Has("_check") {
		w.add(append(slices.Clone(at), "_check"), task, "_check of a group is never run", "put it on a task")
	}
	retry, _ := config.Get("_retry")
	if text, ok := retry.(string); ok && strings.Contains(text, "${") {
		w.add(append(slices.Clone(at), "_retry"), task, "_retry of a group is not evaluated: the group is not tried again", "write the number")
	}
	if retry != nil && retried {
		w.add(append(slices.Clone(at), "_retry"), task, "_retry within a group that is tried again does nothing from its second try on", "put the inner group into a file of its own and use call>")
	}
	w.children(at, task, config, retried || retry != nil)
}

// body looks at what an operator generates: a group, or one task.
func (w *watcher) body(at []string, task string, do *param.Map) {
	w.task(at, task+"^sub", do, false)
}

func operatorOf(config *param.Map) (name string, command param.Value, ok bool) {
	if v, found := config.Get("_type"); found {
		name, _ = v.(string)
		command, _ = config.Get("_command")
		return name, command, true
	}
	for k, v := range config.All() {
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1], v, true
		}
	}
	return "", nil, false
}

func (w *watcher) operator(at []string, task, name string, command param.Value) {
	key := append(slices.Clone(at), name+">")
	text, _ := command.(string)
	if !strings.Contains(name, "${") && !slices.Contains(w.operators, name) {
		hint := "see `zerodag operators` or the documentation for what there is"
		if near := param.Suggest(name, w.operators); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		w.add(key, task, "no operator is named "+name, hint)
	}
	if text == "" || strings.Contains(text, "${") {
		return
	}
	switch name {
	case "call":
		file := strings.TrimSuffix(path.Clean(text), suffix) + suffix
		if _, err := w.read(file); err != nil {
			w.add(key, task, "call> names "+file+", which is not in the project", "")
		}
	case "require":
		if !slices.Contains(w.names, text+suffix) {
			w.add(key, task, "require> names the workflow "+text+", which is not in the project", "that is right only with project_name or project_id")
		}
	}
}

// template looks for `${` that is never closed: it stays as text.
func (w *watcher) template(at []string, task, text string) {
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			return
		}
		text = text[start+2:]
		end := closing(text)
		if end < 0 {
			w.add(at, task, "${ is never closed, so the rest stays as text", "braces are counted, those in quotes too")
			return
		}
		if inner := text[:end]; strings.Count(inner, "'")%2 == 1 || strings.Count(inner, `"`)%2 == 1 {
			w.add(at, task, "${"+inner+"} ends within quotes", "braces are counted, those in quotes too: write '\\x7d' for one")
		}
		text = text[end:]
	}
}

// closing finds the brace that ends an expression, "" counted naively as the language does.
func closing(text string) int {
	depth := 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
