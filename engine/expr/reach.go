package expr

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// reach returns at least the parameters that a template can see, judged without parsing it: perhaps more than the
// script needs, but never fewer.
func (sc scope) reach(parts []Part) *param.Map {
	text := Code(parts)
	if SeesAll(text, mayCompute(text)) {
		return sc.merged()
	}
	return sc.seen(text)
}

// seen returns the parameters whose names occur in the expressions' code.
func (sc scope) seen(text string) *param.Map {
	m := param.New()
	for key, value := range sc.vars.All() {
		if Named(text, key) && !sc.siblings.Has(key) {
			m.Set(key, markCode(value, sc.mark))
		}
	}
	for key, value := range sc.siblings.All() {
		if Named(text, key) {
			m.Set(key, value)
		}
	}
	return m
}

// Named reports whether the script may see key: its text contains the key, or the code around the expressions uses it.
func Named(text, key string) bool {
	switch key {
	case "JSON", "Array", "print", "undefined":
		return true
	}
	return strings.HasPrefix(key, "__") || strings.Contains(text, key)
}

func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// ReachesAll reports whether code can name anything at all.
func ReachesAll(text string, computed bool) bool {
	return computed || hasAny(text, "eval", "Function", "onstructor", "rototype", "__", "Reflect", "escriptor",
		"getOwn", "Proxy", "globalThis", "import", "\\u", "\\x", "with")
}

// SeesAll reports whether code can use the parameters as a whole.
func SeesAll(text string, computed bool) bool {
	return ReachesAll(text, computed) ||
		hasAny(text, "this", "valueOf", "hasOwn", "propertyIsEnumerable", "Locale", "apply", "call", "bind")
}

// mayCompute reports, without parsing, whether code could compute a property's name: it contains a bracket that is
// neither a numeric index nor, judging by the text before it, a list.
func mayCompute(text string) bool {
	for i := range len(text) {
		if text[i] != '[' {
			continue
		}
		before := strings.TrimRight(text[:i], " \t\r\n")
		if before == "" || strings.IndexByte("([=:?&|!;", before[len(before)-1]) >= 0 {
			continue
		}
		index, _, closed := strings.Cut(text[i+1:], "]")
		if !closed || index == "" || len(index) > 6 || strings.Trim(index, "0123456789") != "" {
			return true
		}
	}
	return false
}
