package dig

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Source reads a project file by its slash path. A missing file is ErrNotFound.
type Source func(name string) ([]byte, error)

// Workflow is one workflow of a project, in its stored form.
type Workflow struct {
	Name   string     // file name without ".dig"
	Zone   string     // a Java ZoneId, "UTC" unless the file specifies another
	Config *param.Map // keys in the order of language.md 1.3, without timezone
}

// Suffix ends the names of workflow files.
const Suffix = ".dig"

// Load reads the named workflow files as a push does. All mistakes in any of them are reported together, as Errors; in
// that case no workflows are returned.
func Load(read Source, names []string) ([]Workflow, error) {
	l := load(read, names)
	errs := slices.Concat(l.errs, l.wrong, l.unused)
	if err := errs.AsError(); err != nil {
		return nil, err
	}
	return l.workflows, nil
}

// ScheduleFaults are the mistakes below `schedule:` of workflow files.
type ScheduleFaults struct {
	Unused Errors // keys that are never read
	Wrong  Errors // everything else
}

// AsPushed returns the faults as a push counts them: a key that is never read is also wrong.
func (f ScheduleFaults) AsPushed() ScheduleFaults {
	all := slices.Concat(f.Wrong, f.Unused)
	_ = all.AsError() // this sorts them
	return ScheduleFaults{Wrong: all}
}

// LoadHere is Load for commands that use the files in a folder and store nothing: only the schedule of the current
// workflow matters to them, so schedule faults are returned separately.
func LoadHere(read Source, names []string) ([]Workflow, ScheduleFaults, error) {
	l := load(read, names)
	if len(l.errs) > 0 {
		errs := append(l.errs, l.wrong...)
		return nil, ScheduleFaults{}, errs.AsError()
	}
	return l.workflows, ScheduleFaults{l.unused, l.wrong}, nil
}

// loaded is the result of reading a project's workflow files once.
type loaded struct {
	workflows           []Workflow
	errs, wrong, unused Errors // wrong and unused are of schedules
}

func load(read Source, names []string) (l loaded) {
	all, required := &amount{}, NewRequires(read)
	for _, name := range slices.Sorted(slices.Values(names)) {
		if all.over {
			break // already reported, and reading stops there
		}
		p := newProject(read)
		p.seen = all
		if raw := p.workflow(name); raw != nil && !p.lost {
			d := define(p.read, WorkflowName(name), FolderOf(name), raw, p.calendarOf(name, raw))
			l.wrong = append(l.wrong, p.located(name, raw, d.wrong)...)
			l.unused = append(l.unused, p.located(name, raw, d.unused)...)
			p.errs = append(p.errs, p.located(name, raw, append(d.problems, requireFaults(required, d.Workflow)...))...)
			l.workflows = append(l.workflows, d.Workflow)
		}
		l.errs = append(l.errs, explained(read, p.errs)...)
	}
	l.errs = Once(l.errs) // mistakes in the project's settings were found again for each file
	return l
}

// LoadFile reads one file as a raw mapping, with its includes expanded.
func LoadFile(read Source, name string) (*param.Map, error) {
	p := newProject(read)
	raw := p.file(name)
	if err := p.errs.AsError(); err != nil {
		return nil, err
	}
	return raw, nil
}

// Callee reads the workflow file that call> names, with or without ".dig", as the config of a subtask group. `_workdir`
// is exported if the file is in a folder. Its time zone is checked and ignored, like its schedule and sla.
func Callee(read Source, name string) (*param.Map, error) {
	name = path.Clean(name)
	if !strings.HasSuffix(name, Suffix) {
		name += Suffix
	}
	if path.IsAbs(name) || strings.HasPrefix(name, "../") {
		return nil, Errors{{Message: "File name must not include ..: " + name}}
	}
	p := newProject(read)
	return p.callee(name, p.workflow(name))
}

// CalleeText is like Callee, for text that http_call> received; name is for messages. Text without a language level has
// the task's level.
func CalleeText(name, text string, level int) (*param.Map, error) {
	p := newProject(func(string) ([]byte, error) { return nil, ErrNotFound })
	raw := p.mapping(name, []byte(text))
	if raw != nil && level > 0 && !raw.Has(keys.LevelKey) {
		raw.Set(keys.LevelKey, int64(level))
	}
	return p.callee(name, raw)
}

func (p *project) callee(name string, raw *param.Map) (*param.Map, error) {
	if raw == nil || p.lost {
		return nil, p.errs.AsError()
	}
	w, problems := rebuild(p.read, WorkflowName(name), FolderOf(name), raw)
	p.errs = append(p.errs, p.located(name, raw, problems)...)
	if err := p.errs.AsError(); err != nil {
		return nil, err
	}
	return w.Config, nil
}

func newProject(read Source) *project {
	return &project{read: read, places: map[*param.Map][]position{}, budget: maxExpansion, seen: &amount{}}
}

// file reads and parses one workflow file; nil if that failed.
func (p *project) file(name string) *param.Map {
	text, err := p.read(name)
	if err != nil {
		e := Error{File: name, Message: "read workflow file: " + err.Error()}
		if errors.Is(err, ErrNotFound) {
			e.Message, e.Hint = "File not found: "+name, missingHint(err, "")
		}
		p.errs = append(p.errs, e)
		return nil
	}
	return p.mapping(name, text)
}

// mapping parses a workflow's text; its root must be a mapping.
func (p *project) mapping(name string, text []byte) *param.Map {
	v, ok := p.open(name, nil, text, 0)
	m, isMap := v.(*param.Map)
	if ok && !isMap {
		p.errs = append(p.errs, Error{File: name, Line: 1, Column: 1,
			Message: "Expected object to load Config but got " + param.Sample(v),
			Hint:    mappingHint(name)})
	}
	return m
}

// mappingHint describes what a file must contain if it is not a mapping.
func mappingHint(name string) string {
	if strings.HasSuffix(name, Suffix) {
		return "a workflow is a mapping of tasks, such as `+hello:` with `echo>: hello` in it"
	}
	return "a file of parameters is a mapping of names and values, such as `name: value` in each line"
}

// located adds to problems the place of their key in the file.
func (p *project) located(file string, raw *param.Map, problems []Problem) (list Errors) {
	for i, one := range problems {
		if i == maxReported {
			return append(list, Error{File: file, Message: fmt.Sprintf("%d more errors are not shown", len(problems)-i)})
		}
		e := one.Error
		at := p.find(raw, one.Path)
		e.File, e.Line, e.Column = at.file, at.line, at.column
		if e.File == "" {
			e.File = file
		}
		for _, other := range one.also {
			e.Hint = strings.TrimPrefix(e.Hint+"\n  "+p.furtherPlace(raw, one.Path, other), "\n  ")
		}
		list = append(list, e)
	}
	return list
}

// furtherPlace returns the place of another key in the same mapping as the key at a path.
func (p *project) furtherPlace(raw *param.Map, path []string, other further) string {
	at := p.find(raw, append(slices.Clone(path[:len(path)-1]), other.key))
	if at.line == 0 {
		return other.hint
	}
	return fmt.Sprintf("%s:%d:%d: %s", fileText(at.file), at.line, at.column, other.hint)
}

// find walks down a path of keys and returns the place of the last existing key.
func (p *project) find(v param.Value, keys []string) position {
	if len(keys) == 0 {
		return position{}
	}
	switch x := v.(type) {
	case *param.Map:
		i := slices.Index(x.Keys(), keys[0])
		if i < 0 {
			return position{}
		}
		_, sub := x.At(i)
		if deeper := p.find(sub, keys[1:]); deeper.line > 0 {
			return deeper
		}
		if at := p.places[x]; i < len(at) {
			return at[i]
		}
	case []param.Value: // an entry by its number; or a task written as a list of mappings: later ones win
		if i, err := strconv.Atoi(keys[0]); err == nil && i >= 0 && i < len(x) {
			if at := p.find(x[i], keys[1:]); at.line > 0 {
				return at
			}
		}
		for _, e := range slices.Backward(x) {
			if at := p.find(e, keys); at.line > 0 {
				return at
			}
		}
	}
	return position{}
}

// WorkflowName returns the name of a file's workflow.
func WorkflowName(file string) string { return strings.TrimSuffix(file, Suffix) }

// FolderOf returns a project file's folder, "" for the top one.
func FolderOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return ""
}
