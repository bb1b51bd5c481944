package references

import (
	"strings"

	"zerodag/internal/dagu/document"
)

// Literal escapes a string in which `${` would otherwise begin an expression and `$$` would become `$`.
func Literal(text string) string {
	text = strings.ReplaceAll(text, "$$", "$$$$")
	return strings.ReplaceAll(text, "${", `${'$\x7b'}`)
}

// inSingleQuotes reports whether the position after a shell text is between single quotes.
func inSingleQuotes(text string) bool {
	single, double, escaped := false, false, false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && !single:
			escaped = true
		case r == '\'' && !double:
			single = !single
		case r == '"' && !single:
			double = !double
		}
	}
	return single
}

// isEscaped reports whether a string ends with a backslash that is not escaped itself.
func isEscaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

func startsWord(text string) bool {
	return text != "" && document.Identifier().MatchString("_"+text[:1])
}

// QuotedScript returns a JavaScript string literal. It escapes `}`, which would end the expression in a workflow file,
// and `$`, which could begin another.
func QuotedScript(text string) string {
	r := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "{", `\x7b`, "}", `\x7d`, "$", `\x24`, "\u2028",
		`\u2028`, "\u2029", `\u2029`)
	return "'" + r.Replace(text) + "'"
}

// AsCommand returns the command in a string of the form `$(...)` or in backticks, and reports whether the string has
// that form.
func AsCommand(text string) (string, bool) {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "`")
	if !ok {
		if inner, ok = strings.CutPrefix(text, "$("); ok {
			return strings.CutSuffix(inner, ")")
		}
		return "", false
	}
	return strings.CutSuffix(inner, "`")
}

// ShellWord quotes a word for a shell.
func ShellWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
