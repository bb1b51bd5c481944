package dig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Place is a position in a project's files.
type Place struct {
	File         string // slash path in the project
	Line, Column int    // from 1
}

// String returns "file:line:column", which editors and terminals can open.
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Find returns the place of a failed task in the source, by its full name in an attempt of the workflow in file. This
// is the place of its operator, or of the key or text that the error message quotes, in the task or in a group around
// it. A task that an operator has generated is found in its source: a loop's body, or the file that call> names. If
// that is not known, it is the place of the task that generated it. found is false if the workflow cannot be read.
func Find(read Source, file, task, message string) (place Place, found bool) {
	p := newProject(read)
	raw := p.workflow(file)
	if raw == nil || p.lost {
		return Place{}, false
	}
	return p.placeOf(file, raw, task, message)
}

// Places is like Find, for many tasks at once and without a message. It returns the tasks that are found, by name.
func Places(read Source, file string, tasks []string) map[string]Place {
	p, places := newProject(read), map[string]Place{}
	raw := p.workflow(file)
	if raw == nil || p.lost {
		return places
	}
	for _, task := range tasks {
		if place, found := p.placeOf(file, raw, task, ""); found {
			places[task] = place
		}
	}
	return places
}

// Names returns the names that the workflow defines for the expressions of a task, each with its place: exports of the
// task and of groups around it, and the variables of loops around it. The task is found as in Find. If the workflow
// cannot be read, there are no names.
func Names(read Source, file, task string) map[string]Place {
	p, names := newProject(read), map[string]Place{}
	raw := p.workflow(file)
	if raw == nil || p.lost {
		return names
	}
	f := &finder{project: p, file: file, names: names}
	f.task(raw, strings.TrimPrefix(task, "+"+WorkflowName(file)))
	return names
}

// placeOf finds a task in the workflow raw of a file.
func (p *project) placeOf(file string, raw *param.Map, task, message string) (place Place, found bool) {
	f := &finder{project: p, file: file, message: message}
	f.task(raw, strings.TrimPrefix(task, "+"+WorkflowName(file)))
	at := f.quoted
	if at.line == 0 {
		at = f.written
	}
	return Place{at.file, at.line, at.column}, at.line > 0
}

// finder follows a task's name down from its workflow.
type finder struct {
	*project
	file    string // currently followed
	message string
	written position // of the innermost task so far
	quoted  position // the place of the text that the message is about, in the innermost task that contains it

	names map[string]Place // defined by the tasks so far; nil if not requested
}

// task visits a task; rest is the part of the name that is still to be followed.
func (f *finder) task(config *param.Map, rest string) {
	operator, key, command := keys.Operator(config)
	if key != "" {
		f.written = f.at(config, key)
	}
	if at := f.quote(config); at.line > 0 {
		f.quoted = at
	}
	if f.names != nil {
		export := config.Map("_export")
		for _, name := range export.Keys() {
			f.name(name, f.at(export, name))
		}
		if rest != "" {
			for _, name := range keys.LoopNames(operator, command) {
				f.name(name, f.at(config, key))
			}
		}
	}
	switch {
	case rest == "":
		f.named(config, key)
	case strings.HasPrefix(rest, "+"):
		f.child(config, rest)
	case strings.HasPrefix(rest, "^sub") && operator == "call":
		f.call(command, rest[len("^sub"):])
	case strings.HasPrefix(rest, "^sub^sub") && f.writtenIn(operator) != "":
		f.open(f.writtenIn(operator), rest[len("^sub^sub"):])
	case strings.HasPrefix(rest, "^sub"):
		f.made(config, operator, rest[len("^sub"):])
	default:
		f.handler(config, rest)
	}
}

// handler continues with the tasks that run after a failure, a success or the end of this task, if rest begins with
// such a handler.
func (f *finder) handler(config *param.Map, rest string) {
	for _, handler := range []string{"error", "check", "cancel", "finally"} {
		if below, ok := strings.CutPrefix(rest, "^"+handler); ok {
			f.body(config, "_"+handler, below)
		}
	}
}

func (f *finder) name(name string, at position) {
	f.names[name] = Place{at.file, at.line, at.column}
}

// child continues with the subtask that rest begins with, if there is one.
func (f *finder) child(config *param.Map, rest string) bool {
	for _, key := range config.Keys() {
		below, ok := strings.CutPrefix(rest, key)
		if !ok || !strings.HasPrefix(key, "+") || below != "" && !strings.ContainsAny(below[:1], "+^") {
			continue
		}
		f.body(config, key, below)
		return true
	}
	return false
}

// body continues with the task under a key.
func (f *finder) body(config *param.Map, key, rest string) {
	at := f.at(config, key)
	if at.line > 0 {
		f.written = at
	}
	switch x := config.Value(key).(type) {
	case *param.Map:
		f.task(x, rest)
	case []param.Value: // later ones win
		for _, e := range x {
			if m, ok := e.(*param.Map); ok {
				f.task(m, rest)
			}
		}
	}
}

// made continues with the tasks that an operator generates from its bodies.
func (f *finder) made(config *param.Map, operator, rest string) {
	if slices.Contains([]string{"loop", "for_each", "for_range", "td_for_each"}, operator) {
		if end := strings.IndexAny(strings.TrimPrefix(rest, "+"), "+^"); end >= 0 {
			f.body(config, "_do", rest[end+1:])
		} else {
			f.body(config, "_do", "")
		}
		return
	}
	var holders []*param.Map
	var key string
	for path, body := range keys.BodiesOf(config) {
		probe := &finder{project: f.project, file: f.file}
		if strings.HasPrefix(rest, "+") && !probe.child(body, rest) {
			continue
		}
		holder := config
		if len(path) > 1 {
			holder = config.Map(path[0])
		}
		holders, key = append(holders, holder), path[len(path)-1]
	}
	if len(holders) == 1 { // with two candidates, it is unknown which one ran
		f.body(holders[0], key, rest)
	}
}

// call continues in the file that call> names.
func (f *finder) call(command param.Value, rest string) {
	name, ok := command.(string)
	if !ok {
		return
	}
	name = path.Join(FolderOf(f.file), name)
	if path.Ext(name) != Suffix {
		name += Suffix
	}
	f.open(name, rest)
}

// open continues in a file.
func (f *finder) open(name, rest string) {
	if raw := f.project.workflow(name); raw != nil {
		f.file = name
		f.task(raw, rest)
	}
}

// writtenIn returns the workflow file of a project operator; "" for none.
func (f *finder) writtenIn(operator string) string {
	name := operatorFile(operator)
	if _, err := f.read(name); err != nil {
		return ""
	}
	return name
}

// quote finds the text in a task that the message quotes, such as an expression that could not be evaluated.
func (f *finder) quote(config *param.Map) (found position) {
	for key, v := range config.All() {
		if strings.HasPrefix(key, "+") || keys.HoldsTasks(config, key) {
			continue
		}
		if inner, ok := v.(*param.Map); ok {
			if at := f.quote(inner); at.line > 0 {
				found = at
			}
		}
		if f.quotes(v) {
			found = f.at(config, key)
		}
	}
	return found
}

func (f *finder) quotes(v param.Value) bool {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, "${") && strings.Contains(f.message, " "+x+" (")
	case []param.Value:
		return slices.ContainsFunc(x, f.quotes)
	}
	return false
}

// named finds a key of a task that the message names.
func (f *finder) named(config *param.Map, operatorKey string) {
	for _, key := range config.Keys() {
		if key != operatorKey && strings.Contains(f.message, "'"+key+"'") && !strings.HasPrefix(key, "+") {
			f.written = f.at(config, key)
		}
	}
}

// at returns a key's place.
func (f *finder) at(config *param.Map, key string) position {
	i := slices.Index(config.Keys(), key)
	if at := f.places[config]; i >= 0 && i < len(at) {
		return at[i]
	}
	return position{}
}
