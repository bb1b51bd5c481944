package document

import (
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Text returns the string or number at a key as a string; "" for any other value.
func Text(m *param.Map, key string) string {
	v, _ := m.Get(key)
	return TextOf(v)
}

// TextOf returns a string or number as a string; "" for any other value.
func TextOf(v param.Value) string {
	switch x := v.(type) {
	case string:
		return x
	case nil, *param.Map, []param.Value:
		return ""
	}
	return param.Text(v)
}

// Texts returns the string or list of strings at a key.
func Texts(m *param.Map, key string) (list []string) {
	v, _ := m.Get(key)
	all, isList := v.([]param.Value)
	if !isList {
		all = []param.Value{v}
	}
	for _, e := range all {
		if t := TextOf(e); t != "" {
			list = append(list, t)
		}
	}
	return list
}

// TextsOf returns a string or a list of strings as a list.
func TextsOf(v param.Value) (list []string) {
	for _, e := range keys.ListOf(v) {
		list = append(list, TextOf(e))
	}
	return list
}

// First returns the value at a key, or the first value if it is a list; nil for none.
func First(m *param.Map, key string) param.Value {
	v, _ := m.Get(key)
	if list := keys.ListOf(v); len(list) > 0 {
		return list[0]
	}
	return nil
}

// ListOfTexts returns strings as a list of values.
func ListOfTexts(texts []string) []param.Value {
	list := make([]param.Value, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Words splits a line into words like a shell, but interprets only quotes.
func Words(line string) (list []string) {
	var b strings.Builder
	var quote rune
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && (r == ' ' || r == '\n' || r == '\t'):
			if b.Len() > 0 {
				list = append(list, b.String())
			}
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		list = append(list, b.String())
	}
	return list
}

// Entries returns the pairs of `env` in order.
func Entries(m *param.Map) *param.Map {
	out := param.New()
	v, _ := m.Get("env")
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for _, e := range list {
		switch x := e.(type) {
		case string:
			if name, text, isPair := strings.Cut(x, "="); isPair {
				out.Set(strings.TrimSpace(name), text)
			}
		case *param.Map:
			for name, v := range x.All() {
				out.Set(name, TextOf(v))
			}
		}
	}
	return out
}

// Whole returns the whole number at a key; 0 if there is none.
func (d *Document) Whole(m *param.Map, key string) int64 {
	v, there := m.Get(key)
	if !there || v == nil {
		return 0
	}
	n, err := param.AsWhole(key, v)
	if err != nil {
		d.Lost(m, key, "write a number", "%s is not a whole number: %s", key, param.Text(v))
	}
	return n
}

// Reference matches `${...}` and `$NAME`; the first group is the text between braces, the second a name without braces.
var Reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*|[0-9]+)`)
})

// Identifier matches variable names.
var Identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// Backticks matches a command in backticks.
var Backticks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]*)`") })
