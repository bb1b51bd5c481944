package enginetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// args holds a command's words: plain ones in order, and key=value ones. A value is YAML; it ends at a space unless
// brackets or quotes are open.
type args struct {
	name  string
	words []string
	keys  map[string]string
}

func parseArgs(line string) args {
	a := args{keys: map[string]string{}}
	for _, w := range splitWords(line) {
		key, value, found := strings.Cut(w, "=")
		switch {
		case a.name == "":
			a.name = w
		case found && !strings.ContainsAny(key, "+^"):
			a.keys[key] = value
		default:
			a.words = append(a.words, w)
		}
	}
	return a
}

func splitWords(line string) []string {
	var words []string
	depth, quote, start := 0, byte(0), 0
	for i := 0; i <= len(line); i++ {
		switch {
		case i == len(line) || line[i] == ' ' && depth == 0 && quote == 0:
			if i > start {
				words = append(words, line[start:i])
			}
			start = i + 1
		case quote != 0:
			if line[i] == quote {
				quote = 0
			}
		case line[i] == '"' || line[i] == '\'':
			quote = line[i]
		case line[i] == '{' || line[i] == '[':
			depth++
		case line[i] == '}' || line[i] == ']':
			depth--
		}
	}
	return words
}

// only fails on unknown keys of a command, so that typos are noticed.
func (a args) only(words int, keys ...string) error {
	known := " " + strings.Join(keys, " ") + " "
	for k := range a.keys {
		if !strings.Contains(known, " "+k+" ") {
			return fmt.Errorf("%s has no key %q", a.name, k)
		}
	}
	if len(a.words) > words {
		return fmt.Errorf("%s takes %d positional arguments", a.name, words)
	}
	return nil
}

func (a args) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

func (a args) value(key string) (param.Value, error) {
	text, ok := a.keys[key]
	if !ok {
		return nil, nil
	}
	v, err := dig.ParseYAML(key, []byte("v: "+text))
	if err != nil {
		return nil, err
	}
	out, _ := v.(*param.Map).Get("v")
	return out, nil
}

func (a args) mapping(key string) (*param.Map, error) {
	v, err := a.value(key)
	if v == nil || err != nil {
		return nil, err
	}
	m, ok := v.(*param.Map)
	if !ok {
		return nil, fmt.Errorf("%s must be a mapping", key)
	}
	return m, nil
}

func (a args) text(key, absent string) (string, error) {
	v, err := a.value(key)
	if v == nil || err != nil {
		return absent, err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return param.Text(v), nil
}

func (a args) number(key string, absent int) (int, error) {
	text, ok := a.keys[key]
	if !ok {
		return absent, nil
	}
	return strconv.Atoi(text)
}

func (a args) duration(key string) (time.Duration, error) {
	return time.ParseDuration(a.keys[key])
}
