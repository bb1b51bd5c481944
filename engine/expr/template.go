package expr

import (
	"strings"

	"zerodag/engine/param"
)

// Part is a piece of a template: literal text, or the code of an expression.
type Part struct {
	Text string
	Code bool
}

// Parse splits a template. An expression runs from `${` to the `}` that closes it; braces are only counted, including
// braces in strings and comments. Without that brace, the rest of the template from `${` is literal. So is `${word:`,
// which is left for the operators (`${secret:key}`). In literals `$$` becomes `$`, and `${` gets the mark.
func Parse(text, mark string) []Part {
	var parts []Part
	for text != "" {
		start := find(text)
		if start < 0 {
			break
		}
		length := closing(text[start+2:])
		if length < 0 {
			break
		}
		parts = literal(parts, text[:start], mark)
		if length > 0 {
			parts = append(parts, Part{text[start+2 : start+2+length], true})
		}
		text = text[start+length+3:]
	}
	return literal(parts, text, mark)
}

func literal(parts []Part, text, mark string) []Part {
	if text == "" {
		return parts
	}
	text = strings.ReplaceAll(text, "$$", "$")
	if mark != "" {
		text = strings.ReplaceAll(text, "${", "$"+mark+"{")
		if n := len(parts); n > 0 && parts[n-1].Code && text[0] == '{' {
			text = mark + text // as in `${'$'}{x}`
		}
	}
	return append(parts, Part{Text: text})
}

// markCode returns a parameter value that was not yet evaluated, with the mark in all code that looks like a reference,
// because text made from it was also written by the author. Data is not changed.
func markCode(v param.Value, mark string) param.Value {
	if mark == "" {
		return v
	}
	switch x := v.(type) {
	case string:
		return strings.ReplaceAll(x, "${", "$"+mark+"{")
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			out[i] = markCode(e, mark)
		}
		return out
	case *param.Map:
		if !dollar(x) {
			return x
		}
		out := x.Clone()
		for k, e := range x.All() {
			out.Set(k, markCode(e, mark))
		}
		return out
	}
	return v
}

// Code returns the code of all expressions in a template.
func Code(parts []Part) string {
	var text strings.Builder
	for _, p := range parts {
		if p.Code {
			text.WriteString(p.Text + "\n")
		}
	}
	return text.String()
}

// find returns the position of the first `${` that opens an expression, or -1.
func find(text string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], "${")
		if i < 0 || at+i+2 >= len(text) {
			return -1
		}
		if at += i; !isWord(text[at+2:]) {
			return at
		}
		at += 2
	}
}

// isWord reports whether text begins like "secret:".
func isWord(text string) bool {
	n := 0
	for n < len(text) && text[n] >= 'a' && text[n] <= 'z' {
		n++
	}
	return n > 0 && n < len(text) && text[n] == ':'
}

// closing returns the position of the brace that closes an expression, or -1.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}
