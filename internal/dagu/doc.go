// Package dagu translates Dagu workflows (YAML) into workflow files with `zerodag: 1`. It reports everything that it could not
// translate, with the place in the file and a remedy. A step whose meaning it does not fully understand becomes a `fail>`.
//
// The command line calls it (`zerodag import dagu`). It must never run anything or read files: the text is its only input.
package dagu

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// File is a workflow file that was made.
type File struct {
	Name string // "sales.dig"
	Text []byte
}

// Note is about something that is written otherwise, or not at all.
type Note struct {
	dig.Place
	Message string
	Remedy  string
	// Lost says that the workflow does less than it did, or something else. Other notes are about what a server is told in
	// another place.
	Lost bool
}

// String is "file:line:column: message" with the remedy on a second line.
func (n Note) String() string { return n.Place.String() + ": " + n.Message + "\n  " + n.Remedy }

// Result is the translation of a file.
type Result struct {
	Files  []File
	Notes  []Note
	Steps  Count
	Dotenv bool // Dagu also reads the file .env beside the workflow
}

// Count is the number of steps by outcome. It includes the steps of handlers and loops, and counts each step once.
type Count struct {
	Translated int // runs as in Dagu
	Changed    int // runs, with a note about a difference
	Refused    int // a `fail>` with the reason
}

// Total is the number of steps of the file.
func (c Count) Total() int { return c.Translated + c.Changed + c.Refused }

// Release is how a file is read in which Dagu releases differ.
type Release int

const (
	// ByKeys reads a file as today's if it has keys that only today's releases have, and as an earlier one's otherwise.
	ByKeys Release = iota
	// Earlier is any release before 2.7.
	Earlier
	// Today is release 2.7 or later.
	Today
)

// ReleaseOf returns how the release with a version such as "2.15" or "v2.15.1" reads files.
func ReleaseOf(version string) (Release, error) {
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor); err != nil {
		return ByKeys, fmt.Errorf("%q is not a Dagu release: write it as 2.15", version)
	}
	if major > 2 || major == 2 && minor >= 7 {
		return Today, nil
	}
	return Earlier, nil
}

// Translate makes a workflow file of each document of a file. It returns an error if the text is no Dagu workflow.
func Translate(name string, text []byte, by Release) (Result, error) {
	docs, err := documents(name, text)
	if err != nil {
		return Result{}, err
	}
	local := map[string]*workflow{}
	for _, d := range docs {
		local[d.name] = d
	}
	var r Result
	for _, d := range docs {
		d.local, d.release = local, by
	}
	for _, d := range docs {
		d.passed()
	}
	for _, d := range docs {
		d.declare()
	}
	for _, d := range docs {
		tree := d.translate()
		r.Files = append(r.Files, File{d.name + ".dig", d.print(tree)})
		r.Notes = append(r.Notes, d.notes...)
		r.Steps.add(d)
		r.Dotenv = r.Dotenv || !d.Has("dotenv")
	}
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return r, checked(r.Files)
}

func (c *Count) add(w *workflow) {
	for _, s := range w.every {
		switch {
		case s.refusal != "" || w.refusal != "":
			c.Refused++
		case s.changed:
			c.Changed++
		default:
			c.Translated++
		}
	}
}

// checked loads what was made as a push would.
func checked(files []File) error {
	texts, names := map[string][]byte{}, []string{}
	for _, f := range files {
		if texts[f.Name] != nil {
			return fmt.Errorf("two workflows of the file would be called %s: give one another name", f.Name)
		}
		texts[f.Name], names = f.Text, append(names, f.Name)
	}
	_, err := dig.Load(func(name string) ([]byte, error) {
		if text, there := texts[name]; there {
			return text, nil
		}
		return nil, dig.ErrNotFound
	}, names)
	return err
}

// workflow is one document: a DAG, as Dagu calls it.
type workflow struct {
	file string
	name string // of the file that is made
	*param.Map
	at      func(m *param.Map, key string) dig.Place
	lines   []string             // of the whole file
	local   map[string]*workflow // the workflows of the file
	inner   bool                 // another workflow of the file calls it
	release Release              // which reads it
	today   bool                 // today's releases read it
	notes   []Note

	origin  map[*param.Map]*param.Map // what a mapping was made of
	values  map[string]value          // what ${NAME} may mean
	taken   map[string]bool           // names of variables
	every   []*step                   // all steps, for their count
	current *step                     // the step that is being translated, to which notes belong
	refusal string                    // the reason why no step may run; "" if they may

	defaults   *param.Map
	positional map[int]string // the names of the parameters that $1, $2, ... stand for
	positions  int            // how many places there are
	handed     int            // how many nameless parameters the callers in the file give
	exports    []string       // lines that give commands variables which only their shell can compute
	params     *param.Map     // what the file declares
	env        *param.Map     // variables of all commands
	finders    []string       // scripts that find out variables, for a first task
	secrets    *param.Map
	used       map[string]bool // of values: those that expressions name
	found      *param.Map      // scripts that store a parameter which was not given, by its name
	quoting    bool            // the text that is translated is between double quotes of a shell, and is not one for it
	partial    string          // the condition that errors were ignored, after which a last task fails; "" for none
	handles    string          // which handler is being translated; "" for none
}

// documents cuts a file into its documents.
func documents(name string, text []byte) (docs []*workflow, err error) {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".yml")
	taken := map[string]bool{}
	lines, first := bytes.SplitAfter(text, []byte("\n")), 0
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && strings.TrimRight(string(lines[i]), " \r\n") != "---" {
			continue
		}
		part := append(bytes.Repeat([]byte("\n"), first), bytes.Join(lines[first:i], nil)...)
		first = i + 1
		v, at, err := dig.ParseLocated(name, part)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		m, isMap := v.(*param.Map)
		if !isMap || !m.Has("steps") {
			return nil, fmt.Errorf("%s: a workflow of Dagu is a mapping with `steps`", name)
		}
		w := newWorkflow(name, fileName(base), m, at)
		w.lines = strings.Split(string(text), "\n")
		if own := text1(w.Map, "name"); own != "" && len(docs) > 0 {
			w.name = fileName(own)
		}
		w.name = unique(taken, w.name)
		w.inner = len(docs) > 0
		docs = append(docs, w)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s: there is no workflow in it", name)
	}
	return docs, nil
}

func newWorkflow(file, name string, m *param.Map, at func(*param.Map, string) dig.Place) *workflow {
	w := &workflow{
		file: file, name: name, at: at, origin: map[*param.Map]*param.Map{}, values: map[string]value{}, taken: map[string]bool{}, used: map[string]bool{}, positional: map[int]string{},
		found: param.New(), defaults: param.New(), params: param.New(), env: param.New(), secrets: param.New(),
	}
	w.Map, _ = w.worded(m).(*param.Map)
	return w
}

// lost notes what the result does not do.
func (w *workflow) lost(m *param.Map, key, remedy, format string, args ...any) {
	w.note(m, key, remedy, true, format, args...)
}

// refuse adds a warning and replaces the current step by a `fail>`. Without a current step it refuses the whole workflow.
func (w *workflow) refuse(m *param.Map, key, remedy, format string, args ...any) {
	w.note(m, key, remedy, true, format, args...)
	reason := fmt.Sprintf(format, args...)
	switch {
	case w.current == nil && w.refusal == "":
		w.refusal = reason
	case w.current != nil && w.current.refusal == "":
		w.current.refusal = reason
	}
}

func (w *workflow) note(m *param.Map, key, remedy string, lost bool, format string, args ...any) {
	n := Note{Place: w.place(m, key), Message: fmt.Sprintf(format, args...), Remedy: remedy, Lost: lost}
	if found := reference().FindString(n.Message); found != "" {
		n.Place = w.lineOf(n.Place, found)
	}
	if w.current != nil {
		w.current.changed = true
	}
	if !slices.Contains(w.notes, n) {
		w.notes = append(w.notes, n)
	}
}

// lineOf is the place of a reference within a text that begins at a place: the first line from there on that has it.
func (w *workflow) lineOf(at dig.Place, reference string) dig.Place {
	for i := max(at.Line-1, 0); i < len(w.lines); i++ {
		if column := strings.Index(w.lines[i], reference); column >= 0 {
			if at.Line != i+1 {
				at.Line, at.Column = i+1, column+1
			}
			return at
		}
	}
	return at
}

// place is where a key stands, or else the mapping that it is of. A key may be written in one word there.
func (w *workflow) place(m *param.Map, key string) dig.Place {
	for ; m != nil; m = w.origin[m] {
		at := w.at(m, key)
		for i := 0; at.Line == 0 && i < m.Len(); i++ {
			if name, _ := m.At(i); snake(name) == key {
				at = w.at(m, name)
			}
		}
		for i := 0; at.Line == 0 && w.origin[m] == nil && i < m.Len(); i++ {
			first, _ := m.At(i)
			at = w.at(m, first)
		}
		if at.Line > 0 {
			return at
		}
	}
	return dig.Place{File: w.file, Line: 1, Column: 1}
}

// made notes what a mapping was made of, for its place.
func (w *workflow) made(m, of *param.Map) *param.Map {
	if m != of {
		w.origin[m] = of
	}
	return m
}

// text1 is a key that holds a text or a number, as text; "" for any other value.
func text1(m *param.Map, key string) string {
	v, _ := m.Get(key)
	return textOf(v)
}

func textOf(v param.Value) string {
	switch x := v.(type) {
	case string:
		return x
	case nil, *param.Map, []param.Value:
		return ""
	}
	return param.Text(v)
}

// texts is a key that holds a text or a list of them.
func texts(m *param.Map, key string) (list []string) {
	v, _ := m.Get(key)
	all, isList := v.([]param.Value)
	if !isList {
		all = []param.Value{v}
	}
	for _, e := range all {
		if t := textOf(e); t != "" {
			list = append(list, t)
		}
	}
	return list
}
