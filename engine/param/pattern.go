package param

import (
	"regexp"
	"strings"
)

// Pattern is a text to search for: `/a+b/` is a regular expression (RE2), anything else is the text itself.
type Pattern struct {
	text string
	re   *regexp.Regexp // nil if it is plain text
}

// ParsePattern reads a pattern. The error is about the regular expression.
func ParsePattern(text string) (Pattern, error) {
	inner, begins := strings.CutPrefix(text, "/")
	inner, ends := strings.CutSuffix(inner, "/")
	if !begins || !ends {
		return Pattern{text: text}, nil
	}
	re, err := regexp.Compile(inner)
	return Pattern{text, re}, err
}

// Is reports whether a text equals the pattern's, or matches its expression.
func (p Pattern) Is(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	return text == p.text
}

// In reports whether a text contains the pattern's, or matches its expression.
func (p Pattern) In(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	return strings.Contains(text, p.text)
}
