package dig

import (
	"regexp"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// Stored is a value that `_store` takes from what a command leaves.
type Stored struct {
	Name     string
	From     string // stdout, stderr or file
	Path     string // of the file, as the command names it
	Decode   string // text, lines, json or yaml
	Match    *regexp.Regexp
	Select   []string // names and indexes, from the outside to the inside
	Type     string   // "" is any
	Optional bool
}

// Words of `_store`.
func storedFrom() []string   { return []string{"stdout", "stderr", "file"} }
func storedDecode() []string { return []string{"text", "lines", "json", "yaml"} }

const storeForm = "write names and where their values come from: `_store: {rows: stdout, id: {from: stderr, match: \"id=(\\\\d+)\", type: integer}}`"

// ParseStore reads `_store`.
func ParseStore(v param.Value) ([]Stored, error) {
	fault := ""
	list := readStore(v, func(_ []string, message, _ string) {
		if fault == "" {
			fault = message
		}
	})
	if fault != "" {
		return nil, param.Errorf("_store: %s", fault)
	}
	return list, nil
}

func checkStore(_ string, v param.Value, report func([]string, string, string)) { readStore(v, report) }

func readStore(v param.Value, report func(below []string, message, hint string)) (list []Stored) {
	m, ok := v.(*param.Map)
	if !ok || m.Len() == 0 {
		report(nil, "'_store' must name values: "+sample(v), storeForm)
		return nil
	}
	for name, v := range m.All() {
		s := Stored{Name: name, Decode: "text"}
		switch x := v.(type) {
		case string:
			s.from([]string{name}, x, report)
		case *param.Map:
			s.read(name, x, report)
		default:
			report([]string{name}, "'"+name+"' of _store must say where its value comes from: "+sample(v), storeForm)
		}
		list = append(list, s)
	}
	return list
}

func (s *Stored) from(below []string, v param.Value, report func([]string, string, string)) {
	s.From, _ = v.(string)
	if !slices.Contains(storedFrom(), s.From) {
		report(below, "a value of _store comes from "+strings.Join(storedFrom(), ", ")+": "+sample(v), storeForm)
	}
}

// read reads one value's mapping.
func (s *Stored) read(name string, m *param.Map, report func([]string, string, string)) {
	oneOf := func(key string, v param.Value, words []string) string {
		text, _ := v.(string)
		if !slices.Contains(words, text) {
			report([]string{name, key}, "there is no "+key+" "+sample(v), "write one of "+strings.Join(words, ", "))
		}
		return text
	}
	for key, v := range m.All() {
		at := []string{name, key}
		text, isText := v.(string)
		switch key {
		case "from":
			s.from(at, v, report)
		case "path":
			if s.Path = text; text == "" {
				report(at, "path must name a file: "+sample(v), storeForm)
			}
		case "decode":
			s.Decode = oneOf(key, v, storedDecode())
		case "type":
			s.Type = oneOf(key, v, param.Types())
		case "match":
			re, err := regexp.Compile(text)
			if !isText || text == "" || err != nil {
				report(at, "match is no regular expression: "+sample(v), expressionHint)
			}
			s.Match = re
		case "select":
			if s.Select = strings.Split(strings.TrimPrefix(text, "."), "."); !isText || slices.Contains(s.Select, "") {
				report(at, "select must be a path of names and numbers: "+sample(v), "write it as in `select: .stats.0.rows`")
			}
		case "optional":
			on, err := param.AsYes(key, v)
			if err != nil {
				report(at, "optional must be true or false: "+sample(v), storeForm)
			}
			s.Optional = on
		default:
			report(at, "'"+key+"' of _store is not read by anybody", "it may have from, path, decode, match, select, type and optional")
		}
	}
	switch {
	case !m.Has("from"):
		report([]string{name}, "'"+name+"' of _store does not say where its value comes from", storeForm)
	case (s.From == "file") != m.Has("path"):
		report([]string{name}, "path goes with `from: file`, and only with that", storeForm)
	case s.Decode == "text" && m.Has("select"):
		report([]string{name, "select"}, "select looks into what decode has read", "write `decode: json`, yaml or lines beside it")
	}
}
