package references

import (
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Plain translates a string that no shell reads.
func (t Translator) Plain(m *param.Map, key, text string) string {
	var b strings.Builder
	last := 0
	for _, at := range document.Reference().FindAllStringSubmatchIndex(text, -1) {
		before := text[last:at[0]]
		last = at[1]
		whole, inner := text[at[0]:at[1]], strings.Trim(text[at[0]+1:at[1]], "{}")
		if isEscaped(text[:at[0]]) {
			b.WriteString(Literal(strings.TrimSuffix(before, `\`) + whole))
			continue
		}
		b.WriteString(Literal(before))
		switch is := t.Meaning(inner); {
		case t.keptByQuotes(text, at[0], at[1]):
			b.WriteString(Literal(whole))
		case is.Expression != "":
			b.WriteString("${" + is.Expression + "}")
		case is.kept, key != "env" && t.keepsName(inner) && t.Values[inner].Kind != OfSecret:
			t.keptText(m, key, whole)
			b.WriteString(Literal(whole))
		case t.Values[strings.TrimPrefix(inner, "env.")].Kind == OfSecret:
			b.WriteString("${secret:" + strings.TrimPrefix(inner, "env.") + "}")
		case !strings.HasPrefix(whole, "${") && inner[0] <= '9': // $5
			b.WriteString(whole)
		default:
			t.Refuse(m, key, "write the value, or pass it as a parameter", "%s has no equivalent", whole)
		}
	}
	return b.String() + Literal(text[last:])
}

// IsPlain reports whether expressions can compute a string without a shell.
func (t Translator) IsPlain(text string) bool {
	for _, at := range document.Reference().FindAllStringIndex(text, -1) {
		inner := strings.Trim(text[at[0]+1:at[1]], "{}")
		if !isEscaped(text[:at[0]]) && !t.keptByQuotes(text, at[0], at[1]) && !t.Meaning(inner).plain() &&
			t.Values[strings.TrimPrefix(inner, "env.")].Kind != OfSecret && !(text[at[0]+1] != '{' && inner[0] <= '9') {
			return false
		}
	}
	return !strings.Contains(document.Reference().ReplaceAllString(text, ""), "${")
}

// Script returns a JavaScript expression for a string with references.
func (t Translator) Script(m *param.Map, key, text string) string {
	var parts []string
	last := 0
	part := func(s string) {
		if s != "" {
			parts = append(parts, QuotedScript(s))
		}
	}
	for _, at := range document.Reference().FindAllStringSubmatchIndex(text, -1) {
		inner := strings.Trim(text[at[0]+1:at[1]], "{}")
		is := t.Meaning(inner)
		x := is.Expression
		switch {
		case t.keptByQuotes(text, at[0], at[1]):
			x = QuotedScript(text[at[0]:at[1]])
		case is.kept, x == "" && t.keepsName(inner):
			t.keptText(m, key, text[at[0]:at[1]])
			x = QuotedScript(text[at[0]:at[1]])
		case x == "":
			t.Refuse(m, key, "compare parameters, step outputs or the output of a command",
				"%s has no equivalent in a condition", text[at[0]:at[1]])
			x = "''"
		}
		part(text[last:at[0]])
		parts = append(parts, x)
		last = at[1]
	}
	part(text[last:])
	switch len(parts) {
	case 0:
		return "''"
	case 1:
		return parts[0]
	}
	return "'' + " + strings.Join(parts, " + ")
}

// Fits returns an expression for the condition that a string equals expected, or matches it if expected is "re:...". If
// lines is true, the text may have several lines, of which at least one must match.
func (t Translator) Fits(m *param.Map, text, expected string, lines bool) string {
	if pattern, isPattern := strings.CutPrefix(expected, "re:"); isPattern {
		flags := ""
		if rest, there := strings.CutPrefix(pattern, "(?i)"); there {
			pattern, flags = rest, "i"
		}
		if foreignPattern().MatchString(pattern) {
			t.Refuse(m, "preconditions", "write a pattern that JavaScript supports", "a pattern is not translated: %s", pattern)
		}
		if lines {
			flags += "m"
		}
		if flags != "" {
			flags = ", '" + flags + "'"
		}
		return "new RegExp(" + QuotedScript(pattern) + flags + ").test(" + text + ")"
	}
	if lines {
		if !document.Identifier().MatchString(text) && !strings.HasPrefix(text, "(this.") {
			text = "('' + " + text + ")"
		}
		return text + `.split('\n').includes(` + QuotedScript(expected) + ")"
	}
	return text + " == " + QuotedScript(expected)
}

// foreignPattern matches parts of Go's regular expressions that JavaScript interprets differently.
var foreignPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(\?[^:]|\[\[:|\\[AzpPQEC]`)
})

// SeveralLines reports whether a string may have several lines once its references are replaced.
func (t Translator) SeveralLines(text string) bool {
	for _, found := range document.Reference().FindAllStringSubmatch(text, -1) {
		inner := found[1] + found[2]
		name, _, _ := strings.Cut(inner, ".")
		if t.Values[inner].Kind == OfOutput || t.Values[name].Kind == OfOutput || t.ofStepNamed(name) {
			return true
		}
	}
	return strings.Contains(strings.TrimSpace(text), "\n")
}

// keptByQuotes reports whether Dagu keeps a variable in a string that no shell reads, because the variable is between
// single quotes. It replaces dotted names even there. A quote after `$` or `}` opens nothing.
func (t Translator) keptByQuotes(text string, begin, end int) bool {
	if !t.Today || strings.Contains(text[begin:end], ".") {
		return false
	}
	within := false
	for i := range begin {
		switch {
		case text[i] != '\'' || isEscaped(text[:i]):
		case within:
			within = false
		default:
			within = i == 0 || text[i-1] != '$' && text[i-1] != '}'
		}
	}
	for i := end; within && i < len(text); i++ {
		if text[i] == '\'' && !isEscaped(text[:i]) {
			return true
		}
	}
	return false
}

// JSON returns a value as JSON, with its references as expressions.
func (t Translator) JSON(m *param.Map, key string, v param.Value) string {
	var parts []string
	switch x := v.(type) {
	case *param.Map:
		for name, e := range x.All() {
			parts = append(parts, Literal(param.Text(name))+": "+t.JSON(m, key, e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []param.Value:
		for _, e := range x {
			parts = append(parts, t.JSON(m, key, e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if document.Reference().MatchString(x) {
			return "${JSON.stringify('' + " + t.Script(m, key, x) + ")}"
		}
		return Literal(param.Text(x))
	}
	return param.Text(v)
}

// Evaluated translates the references in a value's strings and returns the value.
func (t Translator) Evaluated(m *param.Map, key string, v param.Value) param.Value {
	switch x := v.(type) {
	case string:
		return t.Plain(m, key, x)
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			out[i] = t.Evaluated(m, key, e)
		}
		return out
	case *param.Map:
		out := param.New()
		for key, e := range x.All() {
			out.Set(key, t.Evaluated(m, key, e))
		}
		return out
	}
	return v
}
