// Package document reads Dagu's workflow files: their documents, with keys as Dagu writes them today, the place of each
// key, and names for the results. A document collects the notes about its translation, and the reasons why a step or
// the whole workflow must not run.
//
// It must not decide how to translate a key: it only lists the keys that the packages above it translate.
package document

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Release selects how to read a file, because Dagu releases differ.
type Release int

const (
	// ByKeys reads a file as one for today's releases if it has keys that only they support, and as one for an earlier
	// release otherwise.
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
		return ByKeys, fmt.Errorf("%q is not a Dagu release: write, for example, 2.15", version)
	}
	if major > 2 || major == 2 && minor >= 7 {
		return Today, nil
	}
	return Earlier, nil
}

// Document is a DAG, as Dagu calls it, with the notes about its translation.
type Document struct {
	*param.Map // the document, with its keys as Dagu writes them today

	File    string // the file that contains it
	Name    string // the name of the translated workflow file
	Inner   bool   // it is not the first document of its file
	Release Release
	Today   bool                 // today's releases read it
	Beside  map[string]*Document // the documents of the file, by name
	Lines   []string             // the lines of the whole file
	Notes   []Note
	Itself  Verdict  // about the whole workflow: if it is refused, no step may run
	About   *Verdict // about the step that is being translated, which gets the notes; nil for none

	at     func(m *param.Map, key string) dig.Place
	origin map[*param.Map]*param.Map // the original of a translated mapping
}

// Read splits a file into its documents.
func Read(name string, text []byte, by Release) (docs []*Document, err error) {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".yml")
	taken, beside := map[string]bool{}, map[string]*Document{}
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
			return nil, fmt.Errorf("%s: a Dagu workflow must be a mapping with `steps`", name)
		}
		d := &Document{File: name, Release: by, Beside: beside, Inner: len(docs) > 0, at: at,
			origin: map[*param.Map]*param.Map{}}
		d.Map, _ = d.Worded(m).(*param.Map)
		d.Lines, d.Name = strings.Split(string(text), "\n"), FileName(base)
		if own := Text(d.Map, "name"); own != "" && d.Inner {
			d.Name = FileName(own)
		}
		d.Name = Unique(taken, d.Name)
		beside[d.Name] = d
		docs = append(docs, d)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s: contains no workflow", name)
	}
	return docs, nil
}

// FindsOut reports whether Dagu runs a command in a string to get a value: only releases before 2.7 did.
func (d *Document) FindsOut(text string) bool { return !d.Today && HasCommand(text) }

// HasCommand reports whether a string contains a command in backticks or `$(...)`.
func HasCommand(text string) bool {
	return Backticks().MatchString(text) || strings.Contains(text, "$(")
}
