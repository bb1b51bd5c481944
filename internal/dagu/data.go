package dagu

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// dataForm is what the actions for data read and write, and how.
type dataForm struct {
	from, to        string
	header, headers bool
	columns         []string
	delimiter       string
	selected        []any // keys and indexes of the part to write
	unquoted        bool
}

// dataAction returns the task of data.convert and data.pick. The data is in the file: what the step prints is known before the run.
func (s *step) dataAction() *param.Map {
	with := s.with()
	s.outside(s.Map, "type", "an action for data")
	s.only(with, "from", "to", "data", "input", "has_header", "headers", "columns", "delimiter", "select", "raw")
	data, there := with.Get("data")
	switch {
	case !there:
		s.refuse(with, "input", "read the file with a command, such as `jq`", "a step of type %s with a file is not taken over", text1(s.Map, "type"))
	case reference().MatchString(param.Text(data)) && text1(s.Map, "type") == "data.pick" && strings.EqualFold(text1(with, "from"), "json") && s.isOn("raw", false):
		return s.pickLater(data)
	case reference().MatchString(param.Text(data)):
		s.refuse(with, "data", "write an expression such as ${JSON.parse(value).name}", "a step of type %s whose data is known only in the run is not taken over", text1(s.Map, "type"))
	}
	printed, err := s.dataForm().convert(data)
	if err != nil { // it fails in Dagu, too
		return param.New("fail>", literal(err.Error()))
	}
	return s.commandTask("printf '%s' "+literal(shellWord(printed)), program{posix: true, stops: true})
}

// pickLater returns a task that picks a part of JSON which the run makes. Its printed form is known for plain values only.
func (s *step) pickLater(data param.Value) *param.Map {
	with := s.with()
	s.dataForm() // refuses what it does not know
	s.extra.Set("WITH_DATA", s.plain(with, "data", textOf(data)))
	s.note(with, "data", "install it where the commands run", false, "step %s runs the program jq, and fails if it picks a list, a mapping or a number of a million or more", s.called)
	filter := `if length == 1 then .[0] else error("the data is not one JSON value") end | ` + text1(with, "select") + ` | if . == null then "" elif type == "string" or type == "boolean" or type == "number" and fabs < 1000000 then . else error("picked a list, a mapping or a large number") end`
	return s.commandTask(`printf '%s' "$WITH_DATA" | jq -s -r -M `+literal(shellWord(filter)), program{posix: true, stops: true})
}

// dataForm reads the form of the data from `with`.
func (s *step) dataForm() dataForm {
	with := s.with()
	f := dataForm{from: strings.ToLower(text1(with, "from")), to: strings.ToLower(text1(with, "to")), header: s.isOn("has_header", true), headers: s.isOn("headers", true),
		delimiter: text1(with, "delimiter"), unquoted: s.isOn("raw", false)}
	columns, _ := with.Get("columns")
	for _, c := range keys.ListOf(columns) {
		f.columns = append(f.columns, textOf(c))
	}
	known := []string{"json", "yaml", "csv", "tsv", "text"}
	if text1(s.Map, "type") == "data.pick" {
		if !f.unquoted {
			f.to = cmp.Or(f.to, "json")
		} else if f.to != "" {
			s.refuse(with, "to", "write one of `raw` and `to`", "a step has both raw and to")
		}
		if f.selected = dataPath(text1(with, "select")); f.selected == nil {
			s.refuse(with, "select", "run `jq` as a command", "select is not a plain path: %s", text1(with, "select"))
		}
	}
	if !slices.Contains(known, f.from) || !slices.Contains(known, f.to) && !f.unquoted {
		s.refuse(with, "from", "write json, yaml, csv, tsv or text", "the form of the data is not known: from %s to %s", f.from, f.to)
	}
	if len([]rune(f.delimiter)) > 1 {
		s.refuse(with, "delimiter", "write one character", "a delimiter has one character, and not %s", f.delimiter)
	}
	return f
}

// dataPath returns the keys and indexes of a path such as `.a.b[0]` or `.[0].name`; nil for any other path. `.` has none.
func dataPath(text string) []any {
	if !plainPath().MatchString(text) {
		return nil
	}
	path := []any{}
	for _, part := range pathPart().FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(part[2]); err == nil {
			path = append(path, n)
		} else if part[1] != "" {
			path = append(path, part[1])
		}
	}
	return path
}

var (
	plainPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\.$|^(\.?\[[0-9]{1,9}\]|\.[A-Za-z_][A-Za-z0-9_]*)(\.?\[[0-9]{1,9}\]|\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	})
	pathPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]`) })
)

// convert returns what Dagu prints for data.
func (f dataForm) convert(data param.Value) (string, error) {
	v, err := f.read(data)
	if err != nil {
		return "", err
	}
	if v, err = part(v, f.selected); err != nil {
		return "", err
	}
	if f.unquoted {
		if text, isText := v.(string); isText {
			return text + "\n", nil
		}
		if v == nil {
			return "\n", nil
		}
		if _, isNumber := v.(float64); isNumber {
			return fmt.Sprintln(v), nil
		}
		text, err := inJSON(v)
		return text + "\n", err
	}
	return f.write(v)
}

// part returns the part of data at a path, as jq finds it: what is not there is null.
func part(v any, path []any) (any, error) {
	for _, key := range path {
		if v == nil {
			return nil, nil
		}
		switch of := v.(type) {
		case map[string]any:
			name, isName := key.(string)
			if !isName {
				return nil, fmt.Errorf("the data has no list for [%v]", key)
			}
			v = of[name]
		case []any:
			i, isIndex := key.(int)
			if !isIndex {
				return nil, fmt.Errorf("the data has no mapping for .%v", key)
			}
			if v = nil; i < len(of) {
				v = of[i]
			}
		default:
			return nil, fmt.Errorf("the data has nothing at %v", key)
		}
	}
	return v, nil
}

// read returns data as values of JSON.
func (f dataForm) read(data param.Value) (v any, err error) {
	text, isText := data.(string)
	switch f.from {
	case "json":
		if isText {
			err = json.Unmarshal([]byte(text), &v)
			return v, err
		}
	case "yaml":
		if isText {
			err = yaml.Unmarshal([]byte(text), &v)
			return namedKeys(v), err
		}
	case "text":
		if isText {
			return text, nil
		}
		return inJSON(native(data))
	default:
		if !isText {
			return nil, errors.New("data of lines must be a text")
		}
		return f.readLines(text)
	}
	return native(data), nil
}

// comma is what separates fields in a form.
func (f dataForm) comma(form string) rune {
	for _, r := range f.delimiter {
		return r
	}
	if form == "tsv" {
		return '\t'
	}
	return ','
}

func (f dataForm) readLines(text string) (any, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = f.comma(f.from), true, true
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.from, err)
	}
	columns, list := f.columns, []any{}
	if f.header && len(lines) > 0 {
		columns, lines = lines[0], lines[1:]
	}
	for _, line := range lines {
		if len(columns) == 0 {
			row := make([]any, len(line))
			for i, field := range line {
				row[i] = field
			}
			list = append(list, row)
			continue
		}
		row := map[string]any{}
		for i, name := range columns {
			row[name] = ""
			if i < len(line) {
				row[name] = line[i]
			}
		}
		list = append(list, row)
	}
	return list, nil
}

func (f dataForm) write(v any) (string, error) {
	switch f.to {
	case "json":
		text, err := json.MarshalIndent(v, "", "  ")
		return string(text) + "\n", err
	case "yaml":
		text, err := yaml.Marshal(v)
		return string(text), err
	case "text":
		if text, isText := v.(string); isText || v == nil {
			return text, nil
		}
		return inJSON(v)
	}
	return f.writeLines(v)
}

func (f dataForm) writeLines(v any) (string, error) {
	list, isList := v.([]any)
	if !isList {
		return "", fmt.Errorf("%s needs a list", f.to)
	}
	columns, mapped := f.columns, false
	if len(list) > 0 {
		_, mapped = list[0].(map[string]any)
	}
	if mapped && len(columns) == 0 {
		columns = columnsOf(list)
	}
	var rows [][]string
	if f.headers && len(columns) > 0 {
		rows = append(rows, columns)
	}
	for _, e := range list {
		var row []string
		switch of := e.(type) {
		case map[string]any:
			if !mapped {
				return "", errMixed
			}
			for _, name := range columns {
				row = append(row, cell(of[name]))
			}
		case []any:
			if mapped {
				return "", errMixed
			}
			for _, field := range of {
				row = append(row, cell(field))
			}
		default:
			return "", errMixed
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = f.comma(f.to)
	err := w.WriteAll(rows)
	return b.String(), err
}

var errMixed = errors.New("rows must be mappings only, or lists only")

// namedKeys makes texts of the keys of mappings in YAML.
func namedKeys(v any) any {
	switch of := v.(type) {
	case map[string]any:
		for key, e := range of {
			of[key] = namedKeys(e)
		}
	case map[any]any:
		named := map[string]any{}
		for key, e := range of {
			named[fmt.Sprint(key)] = namedKeys(e)
		}
		return named
	case []any:
		for i, e := range of {
			of[i] = namedKeys(e)
		}
	}
	return v
}

// columnsOf returns the keys of all rows, sorted.
func columnsOf(list []any) []string {
	seen := map[string]bool{}
	for _, e := range list {
		of, _ := e.(map[string]any)
		for name := range of {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func cell(v any) string {
	switch v.(type) {
	case nil:
		return ""
	case map[string]any, []any:
		text, err := inJSON(v)
		if err == nil {
			return text
		}
	}
	return fmt.Sprint(v)
}
