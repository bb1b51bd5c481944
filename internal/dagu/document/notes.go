package document

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Note is a message about something that was translated differently or not at all.
type Note struct {
	dig.Place
	Message string
	Remedy  string
	// Lost means that the translated workflow does less or something different. Other notes concern settings that are
	// configured elsewhere on a server.
	Lost bool
}

// String returns "file:line:column: message" with the remedy on a second line.
func (n Note) String() string { return n.Place.String() + ": " + n.Message + "\n  " + n.Remedy }

// Verdict sums up the notes about a step, or about the whole workflow.
type Verdict struct {
	Refusal string // the reason why it must not run; "" if it may
	Changed bool   // there is a note about it
}

// Lost adds a warning about something that the translated workflow does not do.
func (d *Document) Lost(m *param.Map, key, remedy, format string, args ...any) {
	d.Note(m, key, remedy, true, format, args...)
}

// Refuse adds a warning and replaces the current step with a `fail>`. If there is no current step, it refuses the whole
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

// lineOf returns the place of a reference in a string, given where the string begins: the first line at or after that
// place that contains the reference.
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

// place returns the place of a key, or else of its mapping. The file may write the key as one word.
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

// Made records the original of a translated mapping, so that its place can be found.
func (d *Document) Made(m, of *param.Map) *param.Map {
	if m != of {
		d.origin[m] = of
	}
	return m
}

// Only refuses all keys of a mapping except the given ones.
func (d *Document) Only(m *param.Map, read ...string) {
	for key := range m.All() {
		if !slices.Contains(read, key) {
			d.Refuse(m, key, "write it differently", "%s is not translated", key)
		}
	}
}
