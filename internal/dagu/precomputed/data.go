package precomputed

import (
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

	"zerodag/engine/param"
)

// DataForm describes what the data actions read and write, and in which format.
type DataForm struct {
	From, To        string
	Header, Headers bool
	Columns         []string
	Delimiter       string
	Selected        []any // keys and indexes of the part to write
	Unquoted        bool
}

// DataPath returns the keys and indexes of a path such as `.a.b[0]` or `.[0].name`; nil for any other path. For `.` the
// list is empty.
func DataPath(text string) []any {
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

// Convert returns what Dagu prints for data.
func (f DataForm) Convert(data param.Value) (string, error) {
	v, err := f.read(data)
	if err != nil {
		return "", err
	}
	if v, err = part(v, f.Selected); err != nil {
		return "", err
	}
	if f.Unquoted {
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

// part returns the part of data at a path, as jq does: a missing part is null.
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
			return nil, fmt.Errorf("the data has no value at %v", key)
		}
	}
	return v, nil
}

// read returns data as JSON values.
func (f DataForm) read(data param.Value) (v any, err error) {
	text, isText := data.(string)
	switch f.From {
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
		return inJSON(Native(data))
	default:
		if !isText {
			return nil, errors.New("data of lines must be a string")
		}
		return f.readLines(text)
	}
	return Native(data), nil
}

// comma returns the field separator of a format.
func (f DataForm) comma(form string) rune {
	for _, r := range f.Delimiter {
		return r
	}
	if form == "tsv" {
		return '\t'
	}
	return ','
}

func (f DataForm) readLines(text string) (any, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = f.comma(f.From), true, true
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.From, err)
	}
	columns, list := f.Columns, []any{}
	if f.Header && len(lines) > 0 {
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

func (f DataForm) write(v any) (string, error) {
	switch f.To {
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

func (f DataForm) writeLines(v any) (string, error) {
	list, isList := v.([]any)
	if !isList {
		return "", fmt.Errorf("%s needs a list", f.To)
	}
	columns, mapped := f.Columns, false
	if len(list) > 0 {
		_, mapped = list[0].(map[string]any)
	}
	if mapped && len(columns) == 0 {
		columns = columnsOf(list)
	}
	var rows [][]string
	if f.Headers && len(columns) > 0 {
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
	w.Comma = f.comma(f.To)
	err := w.WriteAll(rows)
	return b.String(), err
}

var errMixed = errors.New("rows must be mappings only, or lists only")

// namedKeys converts the keys of YAML mappings to strings.
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
