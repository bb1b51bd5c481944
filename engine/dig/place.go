package dig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Place is where something is written in a project.
type Place struct {
	File         string // slash path in the project
	Line, Column int    // from 1
}

// String is what editors and terminals open: "file:line:column".
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Find says where a task that failed is written, by its full name in an attempt of the workflow in file: its
// operator, or the key or text of it, or of a group around it, that the message of its error quotes. A task that an
// operator has made is found in what it was made of: the body of a loop, the file that call> names. Where that is not
// known, it is the place of the task that made it. found is false when the workflow cannot be read.
func Find(read Source, file, task, message string) (place Place, found bool) {
	p := newProject(read)
	raw := p.workflow(file)
	if raw == nil || p.lost {
		return Place{}, false
	}
	return p.placeOf(file, raw, task, message)
}

// Places is Find for many tasks at once, without a message: by their names, those that are found.
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

// Names are those that its workflow lets the expressions of a task see: what is exported by it and around it, and the
// variables of loops around it, each where it is written. A task is found as Find does. None are there of a workflow that
// cannot be read.
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

// placeOf looks for a task in the workflow raw of a file.
func (p *project) placeOf(file string, raw *param.Map, task, message string) (place Place, found bool) {
	f := &finder{project: p, file: file, message: message}
	f.task(raw, strings.TrimPrefix(task, "+"+WorkflowName(file)))
	at := f.quoted
	if at.line == 0 {
		at = f.written
	}
	return Place{at.file, at.line, at.column}, at.line > 0
}

// finder follows the name of a task down from its workflow.
type finder struct {
	*project
	file    string // that is followed
	message string
	written position // of the innermost task so far
	quoted  position // of what the message is about, in the innermost task that has it

	names map[string]Place // that the tasks so far let others see; nil where nobody asks
}

// task looks at a task; rest is what its name leaves of the name that is looked for.
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

// handler goes on with the tasks that are made when this one fails, has succeeded or is over, if rest begins with such.
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

// child goes on with the subtask that rest begins with, if there is one.
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

// body goes on with a task that stands under a key.
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

// made goes on with what an operator makes of its bodies.
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
	if len(holders) == 1 { // of two that could be, nobody knows which has run
		f.body(holders[0], key, rest)
	}
}

// call goes on in the file that call> names.
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

// open goes on in a file.
func (f *finder) open(name, rest string) {
	if raw := f.project.workflow(name); raw != nil {
		f.file = name
		f.task(raw, rest)
	}
}

// writtenIn is the workflow file that an operator of the project is; "" for none.
func (f *finder) writtenIn(operator string) string {
	name := operatorFile(operator)
	if _, err := f.read(name); err != nil {
		return ""
	}
	return name
}

// quote finds the text in a task that the message quotes: an expression that could not be evaluated.
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

// named finds the key of a task that the message names.
func (f *finder) named(config *param.Map, operatorKey string) {
	for _, key := range config.Keys() {
		if key != operatorKey && strings.Contains(f.message, "'"+key+"'") && !strings.HasPrefix(key, "+") {
			f.written = f.at(config, key)
		}
	}
}

// at is the place of a key.
func (f *finder) at(config *param.Map, key string) position {
	i := slices.Index(config.Keys(), key)
	if at := f.places[config]; i >= 0 && i < len(at) {
		return at[i]
	}
	return position{}
}
