package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrNoFile means that a stage has no file.
var ErrNoFile = errors.New("the stage has no settings file")

// File returns the path of a stage's settings file below a folder.
func File(folder, stage string) string { return filepath.Join(folder, stage+".yaml") }

// Read reads a stage's file on top of the defaults. An unknown key, a repeated key and a value of the wrong kind cause
// errors with file and line. It returns ErrNoFile if there is no file.
func Read(folder, stage string) (Settings, error) {
	if err := checkStage(stage); err != nil {
		return Settings{}, err
	}
	file := File(folder, stage)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return Settings{}, fmt.Errorf("%w: %s: copy %s and keep only the settings that differ from the defaults", ErrNoFile, file, File(folder, "example"))
	}
	if err != nil {
		return Settings{}, fmt.Errorf("read the settings of stage %s: %w", stage, err)
	}
	s, err := Parse(file, text, stage)
	if err != nil {
		return Settings{}, err
	}
	if err := s.Validate(); err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// Parse reads a file's text on top of a stage's defaults; Validate checks whether the settings are consistent. The
// error names the file and the line.
func Parse(file string, text []byte, stage string) (Settings, error) {
	s := Default(stage)
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return s, nil // only comments
	} else if err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return s, fmt.Errorf("%s: a settings file must be a single document", file)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return s, nil
	}
	if err := fill(reflect.ValueOf(&s).Elem(), root); err != nil {
		return s, fmt.Errorf("%s:%w", file, err)
	}
	return s, nil
}

// Override sets one setting from text, written as for the cdk command's --context option: a list is separated by
// commas, tags are NAME=VALUE,NAME=VALUE, and a zone is {id: ID, name: NAME}.
func (s *Settings) Override(name, text string) error {
	field, ok := fields(reflect.ValueOf(s).Elem())[name]
	if !ok {
		return unknown(name, reflect.ValueOf(s).Elem())
	}
	var node yaml.Node
	switch field.Kind() {
	case reflect.Slice:
		node = yaml.Node{Kind: yaml.SequenceNode}
		for part := range strings.SplitSeq(text, ",") {
			if part != "" {
				node.Content = append(node.Content, scalar(part))
			}
		}
	case reflect.Map:
		node = yaml.Node{Kind: yaml.MappingNode}
		for pair := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("%s must be name=value,name=value but is %q", name, text)
			}
			node.Content = append(node.Content, scalar(key), scalar(value))
		}
	case reflect.Struct:
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) == 0 {
			return fmt.Errorf("%s must be {id: ..., name: ...} but is %q", name, text)
		}
		node = *document.Content[0]
	default:
		node = *scalar(text)
	}
	if err := set(name, field, &node); err != nil {
		_, message, _ := strings.Cut(err.Error(), ": ") // there is no line number
		return errors.New(message)
	}
	return nil
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// fields returns the fields of a struct by their names in a file.
func fields(v reflect.Value) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "-" {
			all[name] = v.Field(i)
		}
	}
	return all
}

// fill sets the fields of a struct from a mapping. Errors begin with the line number.
func fill(v reflect.Value, node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%d: settings must be a mapping, NAME: VALUE", node.Line)
	}
	all, seen := fields(v), map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field, ok := all[key.Value]
		if !ok {
			return fmt.Errorf("%d: %w", key.Line, unknown(key.Value, v))
		}
		if line := seen[key.Value]; line > 0 {
			return fmt.Errorf("%d: %s is already set in line %d", key.Line, key.Value, line)
		}
		seen[key.Value] = key.Line
		if err := set(key.Value, field, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets one field. Errors begin with the line number.
func set(name string, field reflect.Value, node *yaml.Node) error {
	wrong := func(form string) error { return fmt.Errorf("%d: %s must be %s", node.Line, name, form) }
	switch field.Kind() {
	case reflect.Struct:
		return fill(field, node)
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode || slices.ContainsFunc(node.Content, isNoText) {
			return wrong("a list of strings")
		}
		var list []string
		for _, e := range node.Content {
			list = append(list, e.Value)
		}
		field.Set(reflect.ValueOf(list))
		return nil
	case reflect.Map:
		if node.Kind != yaml.MappingNode || slices.ContainsFunc(node.Content, isNoText) {
			return wrong("a mapping of strings")
		}
		m := map[string]string{}
		for i := 0; i < len(node.Content); i += 2 {
			m[node.Content[i].Value] = node.Content[i+1].Value
		}
		field.Set(reflect.ValueOf(m))
		return nil
	}
	if isNoText(node) {
		return wrong("a single value")
	}
	return setScalar(field, node, wrong)
}

// setScalar sets a field with a single value; wrong makes the error for a value in a different form.
func setScalar(field reflect.Value, node *yaml.Node, wrong func(form string) error) error {
	switch field.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(node.Value)
		if err != nil || node.Value != "true" && node.Value != "false" {
			return wrong("true or false but is " + strconv.Quote(node.Value))
		}
		field.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(node.Value)
		if err != nil {
			return wrong("a whole number but is " + strconv.Quote(node.Value))
		}
		field.SetInt(int64(n))
	default:
		field.SetString(node.Value)
	}
	return nil
}

// isNoText reports whether a node is anything but a single value.
func isNoText(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode || n.Tag == "!!null" }

// unknown returns the error for an unknown key, with the likely intended one.
func unknown(name string, of reflect.Value) error {
	const longest = 40 // the longest word that is worth comparing
	if len(name) > longest {
		return fmt.Errorf("unknown setting %.40q...", name)
	}
	best, least := "", 4
	for _, known := range slices.Sorted(maps.Keys(fields(of))) {
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d < least {
			best, least = known, d
		}
	}
	if best == "" {
		return fmt.Errorf("unknown setting %q", name)
	}
	return fmt.Errorf("unknown setting %q (did you mean %s?)", name, best)
}

// distance returns how many letters must be added, removed, replaced or swapped with their neighbor to turn one word
// into the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			other := 0
			if x[i-1] != y[j-1] {
				other = 1
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+other)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
