// Package parameters collects what the files of a project define about its parameters: their names and types, which
// ones nothing reads, and what expressions do with values whose types decide the outcome.
//
// Package lint uses it for each workflow, and the command line for parameters that are given. It warns, and changes
// nothing.
package parameters

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Definitions holds what a project's files define about its parameters' types.
type Definitions struct {
	texts  map[string]string          // names whose values are text, with where the text comes from
	others map[string]bool            // names that may have values of other types
	keys   map[string]map[string]bool // of mappings, by their name
	loose  map[string]bool            // names that are mappings in one place and something else in another
	open   bool                       // one of the project's operators may store any name
	words  map[string]bool            // of files that are not workflows

	builtIn []string // operators that do not come from a project
}

// Sources of text.
const (
	fromStore = "$ZERODAG_STORE stores text"
	fromRule  = "`params` declares it as a string"
	fromText  = "it is text in the file"
)

// mostFiles limits how many of a project's files are read for its definitions.
const mostFiles = 2000

// Read reads a project's files. Without a list of its folders, names that no workflow defines may be anything.
func Read(read dig.Source, names, builtIn []string, folder func(string) ([]string, bool)) *Definitions {
	d := &Definitions{texts: map[string]string{}, others: map[string]bool{"i": true, "range": true}, keys: map[string]map[string]bool{},
		loose: map[string]bool{}, words: map[string]bool{}, open: folder == nil, builtIn: builtIn}
	files := slices.Clone(names)
	if folder != nil {
		files = FilesBelow(folder, ".")
	}
	for _, name := range files[:min(len(files), mostFiles)] {
		if path.Ext(name) == dig.Suffix {
			if raw, err := dig.LoadFile(read, name); err == nil {
				d.params(raw)
				d.mapping(raw.Without(keys.ParamsKey))
			}
			continue
		}
		text, readable := small(read, name)
		if !readable {
			continue
		}
		d.script(string(text))
		AddWords(d.words, text)
	}
	return d
}

// FilesBelow returns a project's files below a folder, up to a limit.
func FilesBelow(list func(string) ([]string, bool), folder string) (files []string) {
	folders := []string{folder}
	for seen := 0; len(folders) > 0 && seen < mostFiles; {
		entries, _ := list(folders[0])
		for _, e := range entries {
			name := path.Join(folders[0], e)
			if _, isFolder := list(name); isFolder {
				folders = append(folders, name)
			} else {
				files = append(files, name)
			}
			seen++
		}
		folders = folders[1:]
	}
	return files
}

func (d *Definitions) params(raw *param.Map) {
	for _, p := range keys.ReadParams(raw).List {
		if p.Rule.Type == "" || p.Rule.Type == "string" {
			d.texts[p.Name] = fromRule
		} else {
			d.others[p.Name] = true
		}
	}
}

// mapping records each key as a name, whatever its purpose, because an expression may see any key.
func (d *Definitions) mapping(m *param.Map) {
	for key, v := range m.All() {
		switch {
		case strings.HasSuffix(key, ">"):
			d.operator(strings.TrimSuffix(key, ">"), v)
		case key == "_store":
			d.stored(v)
			continue
		case !strings.HasPrefix(key, "+"):
			d.name(key, v)
		}
		d.value(v)
	}
}

func (d *Definitions) value(v param.Value) {
	switch x := v.(type) {
	case *param.Map:
		d.mapping(x)
	case []param.Value:
		for _, e := range x {
			d.value(e)
		}
	}
}

func (d *Definitions) operator(name string, v param.Value) {
	if !slices.Contains(d.builtIn, name) || name == "param_get" || name == "http_call" {
		d.open = true
	}
	if script, isText := v.(string); isText && name == "sh" {
		d.script(script)
	}
}

// stored records the names of `_store`: text, unless a rule has another type.
func (d *Definitions) stored(v param.Value) {
	m, _ := v.(*param.Map)
	for name, from := range m.All() {
		rule, _ := from.(*param.Map)
		if kind, _ := rule.Value("type").(string); kind == "" || kind == "string" {
			d.texts[name] = "`_store` stores text unless it has `type`"
		} else {
			d.others[name] = true
		}
	}
}

// typed matches text that looks like a number or a boolean.
var typed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-?\d+(\.\d+)?|true|false)$`) })

func (d *Definitions) name(key string, v param.Value) {
	switch x := v.(type) {
	case *param.Map:
		d.others[key] = true
		if d.keys[key] == nil {
			d.keys[key] = map[string]bool{}
		}
		for _, k := range x.Keys() {
			d.keys[key][k] = true
		}
	case string:
		d.loose[key] = true
		if typed().MatchString(x) {
			d.texts[key] = fromText
		} else {
			d.others[key] = true
		}
	default:
		d.loose[key] = d.loose[key] || v != nil
		d.others[key] = true
	}
}

// assigned matches NAME= in a line that writes to the file for values.
var assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s"'(;])([A-Za-z_]\w*)=`) })

// storeFile matches the variable with the path of that file, which has two names.
var storeFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:ZERODAG|DIGDAG)_STORE`) })

// script records the names that a script stores.
func (d *Definitions) script(text string) {
	for line := range strings.Lines(text) {
		file := storeFile().FindStringIndex(line)
		if file == nil {
			continue
		}
		for _, m := range assigned().FindAllStringSubmatch(line[:file[0]], -1) {
			d.texts[m[1]] = fromStore
		}
	}
}

// textual returns why a parameter's value is, or may be, text; "" if it is not, or if that is unknown.
func (d *Definitions) textual(name string) string {
	switch from := d.texts[name]; {
	case d.others[name]:
		return ""
	case from != "":
		return from
	case d.open, d.words[name], name == "error", name == "failed", name == "moment":
		return ""
	}
	return "-p passes text"
}

// Has reports whether a project may define a name: its files define it, a script contains it, or one of the project's
// operators stores unknown names.
func (d *Definitions) Has(name string) bool {
	return d.open || d.others[name] || d.texts[name] != "" || d.words[name] || d.loose[name]
}

// StoredBy lists the names that a script stores, sorted.
func StoredBy(script string) []string {
	d := Definitions{texts: map[string]string{}}
	d.script(script)
	return slices.Sorted(maps.Keys(d.texts))
}
