// Package dagu turns workflows of Dagu (YAML) into workflow files with `zerodag: 1`, and says of everything that it could not
// take over where it stands and what to do instead.
//
// The command line calls it (`zerodag import dagu`). It must never run anything, nor read files: what it knows is the text.
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

// Translate makes a workflow file of each document of a file. An error says that the text is no workflow of Dagu at all.
func Translate(name string, text []byte) ([]File, []Note, error) {
	docs, err := documents(name, text)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, d := range docs {
		known[d.name] = true
	}
	var files []File
	var notes []Note
	for _, d := range docs {
		d.local = known
		tree := d.translate()
		files = append(files, File{d.name + ".dig", d.print(tree)})
		notes = append(notes, d.notes...)
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return files, notes, checked(files)
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
	at    func(m *param.Map, key string) dig.Place
	local map[string]bool // the workflows of the file
	inner bool            // another workflow of the file calls it
	notes []Note

	origin   map[*param.Map]*param.Map // what a mapping was made of
	values   map[string]value          // what ${NAME} may mean
	defaults *param.Map
	used     map[string]bool // of values: those that expressions name
	found    *param.Map      // scripts that store a parameter which was not given, by its name
}

// documents cuts a file into its documents.
func documents(name string, text []byte) (docs []*workflow, err error) {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".yml")
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
		w := &workflow{file: name, name: fileName(base), Map: m, at: at, origin: map[*param.Map]*param.Map{}, values: map[string]value{}, used: map[string]bool{}, found: param.New(), defaults: param.New()}
		if own := text1(m, "name"); own != "" && len(docs) > 0 {
			w.name = fileName(own)
		}
		w.inner = len(docs) > 0
		docs = append(docs, w)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s: there is no workflow in it", name)
	}
	return docs, nil
}

// lost notes what the result does not do.
func (w *workflow) lost(m *param.Map, key, remedy, format string, args ...any) {
	w.note(m, key, remedy, true, format, args...)
}

func (w *workflow) note(m *param.Map, key, remedy string, lost bool, format string, args ...any) {
	n := Note{Place: w.place(m, key), Message: fmt.Sprintf(format, args...), Remedy: remedy, Lost: lost}
	for _, other := range w.notes {
		if other == n {
			return
		}
	}
	w.notes = append(w.notes, n)
}

// place is where a key stands, or else the mapping that it is of.
func (w *workflow) place(m *param.Map, key string) dig.Place {
	for ; m != nil; m = w.origin[m] {
		at := w.at(m, key)
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

// fileName is a name as that of a workflow file.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.=", r) {
			return r
		}
		return '_'
	}, path.Base(name))
}

// variable is a name as expressions can have it.
func variable(name string) string {
	name = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "p" + name
	}
	return name
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
