package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"zerodag/engine/param"
)

// maxReference is the longest path that is looked up without a script.
const maxReference = 16

// plain evaluates a template whose expressions are all references to parameters, like `${a}`, `${a.b.c}` or
// `${a[0].b}`. It returns false if a script must decide, as for every missing parameter.
func plain(parts []Part, sc scope) (string, bool) {
	if len(parts) == 1 && !parts[0].Code {
		return parts[0].Text, true
	}
	for _, name := range []string{"JSON", "Array", "__p", "__t", "__j", "print"} {
		// The script around the expressions uses these names, so it decides.
		if _, ok := sc.get(name); ok {
			return "", false
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if !p.Code {
			b.WriteString(p.Text)
			continue
		}
		v, ok := lookup(p.Text, sc)
		if !ok {
			return "", false
		}
		if !sc.siblings.Has(root(p.Text)) {
			v = markCode(v, sc.mark)
		}
		s, ok := render(v)
		if !ok {
			return "", false
		}
		if b.Len()+len(s) > MaxResult {
			return "", false
		}
		if len(parts) == 1 {
			return s, true
		}
		b.WriteString(s)
	}
	return b.String(), b.Len() <= MaxResult
}

// lookup follows a reference through the parameters' own keys.
func lookup(ref string, sc scope) (param.Value, bool) {
	ref = strings.Trim(ref, " \t\r\n")
	name, rest := word(ref)
	if name == "" || reserved(name) {
		return nil, false
	}
	v, ok := sc.get(name)
	for range maxReference {
		if !ok || rest == "" {
			return v, ok && rest == ""
		}
		switch rest[0] {
		case '.':
			m, isMap := v.(*param.Map)
			if name, rest = word(rest[1:]); !isMap || name == "" || name == "__proto__" {
				return nil, false
			}
			v, ok = m.Get(name)
		case '[':
			v, rest, ok = element(v, rest[1:])
		default:
			return nil, false
		}
	}
	return nil, false
}

// root returns the parameter that a reference begins with.
func root(ref string) string {
	name, _ := word(strings.Trim(ref, " \t\r\n"))
	return name
}

// element follows "0]...": v is a list here.
func element(v param.Value, text string) (item param.Value, rest string, ok bool) {
	digits, rest, ok := strings.Cut(text, "]")
	list, isList := v.([]param.Value)
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || !isList || err != nil || int(n) >= len(list) || len(digits) > 1 && digits[0] == '0' {
		return nil, "", false
	}
	return list[n], rest, true
}

// word cuts an identifier off the start; "" if there is none.
func word(text string) (name, rest string) {
	n := 0
	for n < len(text) {
		c := text[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (n == 0 || c < '0' || c > '9') {
			break
		}
		n++
	}
	return text[:n], text[n:]
}

// reserved reports whether a name is not an ordinary identifier of JavaScript.
func reserved(name string) bool {
	switch name {
	case "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default",
		"delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "function",
		"if", "implements", "import", "in", "instanceof", "interface", "let", "new", "null",
		"package", "private", "protected", "public", "return", "static", "super", "switch", "this",
		"throw", "true", "try", "typeof", "var", "void", "while", "with", "yield", "async", "of":
		return true
	}
	return false
}

// render formats a value as a template does: null is empty, text is itself, and anything else is the result of
// JSON.stringify. It returns false for text that is not UTF-8, which the script repairs.
func render(v param.Value) (string, bool) {
	switch x := v.(type) {
	case nil:
		return "", true
	case string:
		return x, utf8.ValidString(x)
	case param.Literal:
		return string(x), utf8.ValidString(string(x))
	}
	b, ok := appendValue(nil, v)
	return string(b), ok
}
