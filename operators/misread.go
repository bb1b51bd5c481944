package operators

import (
	"strings"
	"sync"

	"zerodag/engine/param"
)

// Misread returns why a value that a workflow gives to an operator cannot be read, according to the type that TypesOf
// returns for its key. It returns "" if the value can be read, if the type is not specific enough, and for text that is
// evaluated first.
func Misread(kind, key string, v param.Value) string {
	if text, ok := v.(string); v == nil || ok && strings.Contains(text, "${") {
		return ""
	}
	if r, known := readers()[kind]; known {
		if _, err := r(key, v); err != nil {
			return "it takes: " + kind
		}
	}
	return ""
}

// reader reads a value of a type in the tables.
type reader func(key string, v param.Value) (any, error)

// readers maps those types of the tables whose invalid values can be recognized. A reader accepts everything that any
// operator with that type accepts.
var readers = sync.OnceValue(func() map[string]reader {
	text := func(key string, v param.Value) (any, error) { return param.AsString(key, v) }
	mapping := func(key string, v param.Value) (any, error) { return param.ParseMap(key, v) }
	whole := func(key string, v param.Value) (any, error) { return param.AsInt(key, v) }
	all := map[string]reader{
		"boolean":      func(key string, v param.Value) (any, error) { return param.AsBool(key, v) },
		"whole number": whole,
		"number": func(key string, v param.Value) (any, error) {
			if f, isFloat := v.(float64); isFloat {
				return f, nil
			}
			return param.AsInt(key, v)
		},
		"duration":      func(key string, v param.Value) (any, error) { return param.AsDuration(key, v) },
		"list of texts": func(key string, v param.Value) (any, error) { return ListOf(key, v) },
		"mapping":       mapping, "tasks": mapping, "mapping, or JSON text of one": mapping, "mapping of lists, or JSON text of one": mapping,
	}
	for _, kind := range []string{"text", "folder", "file", "file name", "name", "URL", "URI", "ARN", "id", "workflow name", "[CLASS.]METHOD", "[PACKAGE.][CLASS.]NAME"} {
		all[kind] = text
	}
	for _, kind := range []string{"file name, or {data: SQL}", "file name, or {data: TEXT}", "file, or {data: TEXT}"} {
		all[kind] = func(key string, v param.Value) (any, error) {
			if m, isMap := v.(*param.Map); isMap {
				return m, nil
			}
			return param.AsString(key, v)
		}
	}
	return all
})

// TypesOf returns the types of a built-in operator's parameters, by key (the value after its name has a key like
// "sh>"), from the table of its page, without code marks; nil for an operator without a page.
func TypesOf(operator string) map[string]string {
	page, ok := Page(operator)
	if !ok {
		return nil
	}
	types := map[string]string{}
	_, section, _ := strings.Cut(page, "\n## Parameters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		keys := codeSpan().FindAllStringSubmatch(cells[1], -1)
		kind := strings.ReplaceAll(strings.TrimSpace(cells[2]), "`", "")
		each := strings.Split(kind, ", ")
		for i, m := range keys {
			types[m[1]] = kind
			if len(keys) > 1 && len(each) == len(keys) {
				types[m[1]] = each[i] // such as "host, port" with "text, number"
			}
		}
	}
	return types
}
