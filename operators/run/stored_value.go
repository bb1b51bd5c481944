package run

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
	"zerodag/operators"
)

// storedPairs reads the values that a command wrote into $ZERODAG_STORE: one JSON object, or a line KEY=VALUE for each
// value.
func storedPairs(text []byte) (*param.Map, error) {
	out := param.New()
	trimmed := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxCaptured:
		return nil, operators.Failf("$ZERODAG_STORE has %d bytes, but at most %d are allowed", len(text), maxStored)
	case !utf8.Valid(text):
		return nil, operators.Failf("$ZERODAG_STORE is not UTF-8 text")
	case strings.HasPrefix(trimmed, "{"):
		v, err := param.ParseJSON(trimmed)
		m, ok := v.(*param.Map)
		if err != nil || !ok {
			return nil, operators.Failf("$ZERODAG_STORE begins like a JSON object but is not one: %v", err)
		}
		return m, nil
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if strings.TrimRight(name, " \t") != name { // `n = 10` means 10, while `n= 10` may begin with a space
			value = strings.TrimLeft(value, " \t")
		}
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, operators.Failf("line %d of $ZERODAG_STORE is not KEY=VALUE: %q", number, param.Shortened(line))
		}
		if bare, isExport := strings.CutPrefix(name, "export "); isExport {
			return nil, operators.Failf("line %d of $ZERODAG_STORE starts with export, but the file is not a script: write %s=VALUE", number, strings.TrimSpace(bare))
		}
		if strings.ContainsAny(name, " \t") {
			return nil, operators.Failf("line %d of $ZERODAG_STORE is not KEY=VALUE because %q contains a space: %q", number, name, param.Shortened(line))
		}
		out.Set(name, value)
	}
	return out, nil
}

// storedValue reads a value of `_store` from a string; nil if there is none and it is optional.
func storedValue(s keys.Stored, text []byte, there bool) (param.Value, error) {
	v, missing, err := findStored(s, text, there)
	switch {
	case missing != "" && s.Optional:
		return nil, nil
	case missing != "":
		err = errors.New(missing)
	}
	if err != nil {
		return nil, operators.Failf("_store: '%s' %v", s.Name, err)
	}
	if s.Optional && (v == nil || v == "" && s.Rule.Type != "" && s.Rule.Type != "string") {
		return nil, nil // null, or nothing was printed
	}
	v, faults := s.Rule.Fit(s.Name, v)
	if len(faults) > 0 {
		return nil, operators.Failf("_store: %s", rule.Faults(faults))
	}
	return v, nil
}

// findStored finds a value in a string, or returns why it is missing.
func findStored(s keys.Stored, text []byte, there bool) (v param.Value, missing string, err error) {
	switch {
	case !there && s.From == "file":
		return nil, "did not find the file " + s.Path, nil
	case s.From == "file" && len(text) > maxCaptured:
		return nil, "", fmt.Errorf("comes from a file of more than %d bytes", maxCaptured)
	}
	found := strings.ToValidUTF8(string(text), "\uFFFD")
	if s.Match != nil {
		if !s.Match.Fits(found) {
			return nil, "", errors.New("has too much text for its match, which is a large regular expression")
		}
		all := s.Match.FindAllStringSubmatch(found, -1)
		if all == nil {
			return nil, "does not match", nil
		}
		last := all[len(all)-1]
		found = last[min(1, len(last)-1)]
	}
	if v, err = decoded(s.Decode, found); err != nil {
		return nil, "", err
	}
	for _, name := range s.Select {
		if v = below(v, name); v == nil {
			return nil, "has nothing at ." + strings.Join(s.Select, "."), nil
		}
	}
	return v, "", nil
}

func decoded(as, text string) (param.Value, error) {
	switch as {
	case "lines":
		list := []param.Value{}
		for line := range strings.Lines(text) {
			list = append(list, strings.TrimRight(line, "\r\n"))
		}
		return list, nil
	case "json":
		v, err := param.ParseJSON(text)
		if err != nil {
			return nil, fmt.Errorf("is not valid JSON: %w", err)
		}
		return v, nil
	case "yaml":
		v, err := dig.ParseYAML("the text", []byte(text))
		if err != nil {
			return nil, fmt.Errorf("is not valid YAML: %w", err)
		}
		return v, nil
	}
	return strings.TrimSpace(text), nil
}

// below returns the element of a value with the given name or index; nil if there is none.
func below(v param.Value, name string) param.Value {
	switch x := v.(type) {
	case *param.Map:
		found, _ := x.Get(name)
		return found
	case []param.Value:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(x) {
			return x[i]
		}
	}
	return nil
}
