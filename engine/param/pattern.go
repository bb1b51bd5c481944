package param

import (
	"regexp"
	"strings"
)

// Pattern is what a text of a workflow looks for: `/a+b/` is a regular expression (RE2), anything else the text itself.
type Pattern struct {
	text string
	re   *regexp.Regexp // nil: there is none between slashes
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

// Is says whether a text is the pattern's, or has something that its expression looks for.
func (p Pattern) Is(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	return text == p.text
}

// In says whether a text has the pattern's in it, or something that its expression looks for.
func (p Pattern) In(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	return strings.Contains(text, p.text)
}
