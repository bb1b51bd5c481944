package keys

import (
	"slices"
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
	"zerodag/engine/regex"
)

// Stored is a value that `_store` takes from a command's output.
type Stored struct {
	Name     string
	From     string // stdout, stderr or file
	Path     string // of the file, as the command names it
	Decode   string // text, lines, json or yaml
	Match    *regex.Regexp
	Select   []string // names and indexes, outermost first
	Rule     rule.Rule
	Optional bool
}

func storeKey() Key {
	return Key{
		Name: "_store", Where: AtTask,
		Doc:   "values that a command stores for later tasks",
		Check: checkStore,
		Schema: func(meaning rule.Meaning) rule.Schema {
			return rule.Schema{"type": "object", "additionalProperties": rule.Schema{"anyOf": []any{rule.Schema{"enum": rule.AnyOf(StoredFrom())}, storedSchema(meaning)}}}
		},
	}
}

// StoredFrom returns the sources from which `_store` takes values.
func StoredFrom() []string { return []string{"stdout", "stderr", "file"} }

// StoredDecode returns the formats that `_store` decodes.
func StoredDecode() []string { return []string{"text", "lines", "json", "yaml"} }

// StoredWords returns the keys of a `_store` value other than its rule.
func StoredWords() []string {
	return []string{"from", "path", "decode", "match", "select", "optional"}
}

const storeForm = "write names and the sources of their values: `_store: {rows: stdout, id: {from: stderr, match: \"id=(\\\\d+)\", type: integer}}`"

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

func checkStore(_ string, v param.Value, report rule.Report) { readStore(v, report) }

func readStore(v param.Value, report rule.Report) (list []Stored) {
	m, ok := v.(*param.Map)
	if !ok || m.Len() == 0 {
		report(nil, "'_store' must name values: "+param.Sample(v), storeForm)
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
			report([]string{name}, "'"+name+"' of _store must name the source of its value: "+param.Sample(v), storeForm)
		}
		list = append(list, s)
	}
	return list
}

func (s *Stored) from(below []string, v param.Value, report rule.Report) {
	s.From, _ = v.(string)
	if !slices.Contains(StoredFrom(), s.From) {
		report(below, "the source of a value of _store must be one of "+strings.Join(StoredFrom(), ", ")+": "+param.Sample(v), storeForm)
	}
}

// read reads one value's mapping: its source and its rule.
func (s *Stored) read(name string, m *param.Map, report rule.Report) {
	r := rule.Reader{Of: "_store", Report: report}
	words := rule.Words(append(StoredWords(), "description")...)
	s.Rule = r.Read(m, []string{name}, words, func(key string, v param.Value, at []string) bool {
		return r.Described(key, v, at) || s.word(r, key, v, at)
	})
	switch {
	case !m.Has("from"):
		report([]string{name}, "'"+name+"' of _store does not name the source of its value", storeForm)
	case (s.From == "file") != m.Has("path"):
		report([]string{name}, "path is required with `from: file` and not allowed otherwise", storeForm)
	case s.Decode == "text" && m.Has("select"):
		report([]string{name, "select"}, "select needs decoded data", "write `decode: json`, yaml or lines")
	}
}

// word reads a key that is not part of the rule, and reports whether it was one.
func (s *Stored) word(r rule.Reader, key string, v param.Value, at []string) bool {
	text, isText := v.(string)
	switch key {
	case "from":
		s.from(at, v, r.Report)
	case "path":
		if s.Path = text; text == "" {
			r.Fail(at, storeForm, "path must be a file name: %s", param.Sample(v))
		}
	case "decode":
		if s.Decode = text; !slices.Contains(StoredDecode(), text) {
			r.Fail(at, "write one of "+strings.Join(StoredDecode(), ", "), "unknown decode %s", param.Sample(v))
		}
	case "match":
		s.Match = r.Expression(key, v, at)
	case "select":
		if s.Select = strings.Split(strings.TrimPrefix(text, "."), "."); !isText || slices.Contains(s.Select, "") {
			r.Fail(at, "write a path, as in `select: .stats.0.rows`", "select must be a path of names and numbers: %s", param.Sample(v))
		}
	case "optional":
		on, err := param.AsYes(key, v)
		if err != nil {
			r.Fail(at, storeForm, "optional must be true or false: %s", param.Sample(v))
		}
		s.Optional = on
	default:
		return false
	}
	return true
}

func storedSchema(meaning rule.Meaning) rule.Schema {
	s := rule.SchemaOf(meaning, []string{"from"}, StoredWords()...)
	properties := s["properties"].(rule.Schema)
	properties["from"].(rule.Schema)["enum"] = rule.AnyOf(StoredFrom())
	properties["decode"].(rule.Schema)["enum"] = rule.AnyOf(StoredDecode())
	return s
}
