package document

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Note is about something that is written otherwise, or not at all.
type Note struct {
	dig.Place
	Message string
	Remedy  string
	// Lost means that the translated workflow does less, or something else. Other notes are about settings that a
	// server has in another place.
	Lost bool
}

// String is "file:line:column: message" with the remedy on a second line.
func (n Note) String() string { return n.Place.String() + ": " + n.Message + "\n  " + n.Remedy }

// Verdict is the result of the notes about a step, or about the whole workflow.
type Verdict struct {
	Refusal string // why it must not run; "" if it may
	Changed bool   // a note is about it
}

// Lost notes what the result does not do.
func (d *Document) Lost(m *param.Map, key, remedy, format string, args ...any) {
	d.Note(m, key, remedy, true, format, args...)
}

// Refuse adds a warning and replaces the current step by a `fail>`. Without a current step it refuses the whole
// workflow.
func (d *Document) Refuse(m *param.Map, key, remedy, format string, args ...any) {
	d.Note(m, key, remedy, true, format, args...)
	reason := fmt.Sprintf(format, args...)
	is := d.About
	if is == nil {
		is = &d.Itself
	}
	if is.Refusal == "" {
		is.Refusal = reason
	}
}

// Note adds a note about a key of a mapping. lost means that the result does less than the key specifies.
func (d *Document) Note(m *param.Map, key, remedy string, lost bool, format string, args ...any) {
	n := Note{Place: d.place(m, key), Message: fmt.Sprintf(format, args...), Remedy: remedy, Lost: lost}
	if found := Reference().FindString(n.Message); found != "" {
		n.Place = d.lineOf(n.Place, found)
	}
	if d.About != nil {
		d.About.Changed = true
	}
	if !slices.Contains(d.Notes, n) {
		d.Notes = append(d.Notes, n)
	}
}

// lineOf is the place of a reference within a text that begins at a place: the first line from there on that has it.
func (d *Document) lineOf(at dig.Place, reference string) dig.Place {
	for i := max(at.Line-1, 0); i < len(d.Lines); i++ {
		if column := strings.Index(d.Lines[i], reference); column >= 0 {
			if at.Line != i+1 {
				at.Line, at.Column = i+1, column+1
			}
			return at
		}
	}
	return at
}

// place is the place of a key, or else of its mapping. A key may be written in one word there.
func (d *Document) place(m *param.Map, key string) dig.Place {
	for ; m != nil; m = d.origin[m] {
		at := d.at(m, key)
		for i := 0; at.Line == 0 && i < m.Len(); i++ {
			if name, _ := m.At(i); snake(name) == key {
				at = d.at(m, name)
			}
		}
		for i := 0; at.Line == 0 && d.origin[m] == nil && i < m.Len(); i++ {
			first, _ := m.At(i)
			at = d.at(m, first)
		}
		if at.Line > 0 {
			return at
		}
	}
	return dig.Place{File: d.File, Line: 1, Column: 1}
}

// Made notes what a mapping was made of, for its place.
func (d *Document) Made(m, of *param.Map) *param.Map {
	if m != of {
		d.origin[m] = of
	}
	return m
}

// Only refuses all keys of a mapping but the given ones.
func (d *Document) Only(m *param.Map, read ...string) {
	for key := range m.All() {
		if !slices.Contains(read, key) {
			d.Refuse(m, key, "write it differently", "%s is not translated", key)
		}
	}
}
