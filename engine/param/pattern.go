package param

import (
	"strings"

	"zerodag/engine/regex"
)

// Pattern is text to search for: `/a+b/` is a regular expression (RE2), and anything else is the text itself.
type Pattern struct {
	text string
	re   *regex.Regexp // nil if it is plain text
}

// ParsePattern reads a pattern. The error is about the regular expression, which may also be larger than allowed.
func ParsePattern(text string) (Pattern, error) {
	inner, is := PatternExpression(text)
	if !is {
		return Pattern{text: text}, nil
	}
	re, err := regex.Compile(inner)
	return Pattern{text, re}, err
}

// PatternExpression returns the regular expression of a pattern, and whether it is one.
func PatternExpression(text string) (string, bool) {
	inner, begins := strings.CutPrefix(text, "/")
	inner, ends := strings.CutSuffix(inner, "/")
	return inner, begins && ends
}

// Is reports whether a string equals the text of the pattern, or matches its expression. A text too long for the
// expression does not match.
func (p Pattern) Is(text string) bool {
	if p.re != nil {
		return p.re.Fits(text) && p.re.MatchString(text)
	}
	return text == p.text
}

// In reports whether a string contains the text of the pattern, or matches its expression.
func (p Pattern) In(text string) bool {
	if p.re != nil {
		return p.re.Fits(text) && p.re.MatchString(text)
	}
	return strings.Contains(text, p.text)
}
