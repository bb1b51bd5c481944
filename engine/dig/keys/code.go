package keys

import (
	"iter"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// NamesIn returns the names in a value's expressions.
func NamesIn(v param.Value) (names []string) {
	switch x := v.(type) {
	case string:
		for code, closed := range Expressions(x) {
			switch key, isSecret := strings.CutPrefix(code, "secret:"); {
			case !closed:
			case isSecret:
				names = append(names, NamesIn(key)...)
			default:
				for _, m := range nameInCode().FindAllStringSubmatch(quoted().ReplaceAllString(code, "''"), -1) {
					names = append(names, m[1])
				}
			}
		}
	case []param.Value:
		for _, e := range x {
			names = append(names, NamesIn(e)...)
		}
	case *param.Map:
		for _, e := range x.All() {
			names = append(names, NamesIn(e)...)
		}
	}
	return names
}

// BracesHint is the hint for an expression that ends elsewhere than its author meant.
const BracesHint = "braces are counted, even inside quotes"

// Expressions yields the code after each ${ in a string, and whether it is closed: the last one may be unclosed, and is
// then kept as text.
func Expressions(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for {
			_, rest, found := strings.Cut(text, "${")
			if !found {
				return
			}
			end := closingBrace(rest)
			if end < 0 {
				yield(rest, false)
				return
			}
			if !yield(rest[:end], true) {
				return
			}
			text = rest[end:]
		}
	}
}

// Computed reports whether the value of a string is known only when its task runs. A string with a ${ that is never
// closed stays unchanged, so it is not a number, a duration or a condition.
func Computed(text string) (is bool) {
	for _, closed := range Expressions(text) {
		is = closed
	}
	return is
}

// closingBrace finds the end of an expression, counting braces as the language does.
func closingBrace(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// nameInCode matches a JavaScript name that is not a property of something else; quoted text is removed first.
var (
	nameInCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^.\w$])([A-Za-z_$][\w$]*)`) })
	quoted     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'")
	})
)
