package dig

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"zerodag/engine/param"
)

// FormatYAML writes a value the way Digdag prints YAML (`check`, `workflows`, status files): block style, two-space
// indentation, lists indented like their key, all strings in double quotes, and keys unquoted if YAML allows that.
func FormatYAML(v param.Value) []byte {
	w := &yamlWriter{}
	w.item(v, 0)
	w.WriteByte('\n')
	return []byte(w.String())
}

const (
	indentWidth = 2
	lineWidth   = 80  // text is folded at the space after this column
	keyWidth    = 128 // longer keys need the "? " form
)

type yamlWriter struct {
	strings.Builder
	column int
}

func (w *yamlWriter) put(s string) {
	w.WriteString(s)
	w.column += utf8.RuneCountInString(s)
}

func (w *yamlWriter) newLine(indent int) {
	w.WriteByte('\n')
	w.column = 0
	w.put(strings.Repeat(" ", indent))
}

// item writes a value that starts a line of a document or a list.
func (w *yamlWriter) item(v param.Value, indent int) {
	switch x := v.(type) {
	case *param.Map:
		if x.Len() > 0 {
			w.mapping(x, indent)
			return
		}
	case []param.Value:
		if len(x) > 0 {
			w.list(x, indent)
			return
		}
	}
	w.scalar(v, indent)
}

func (w *yamlWriter) mapping(m *param.Map, indent int) {
	for i := range m.Len() {
		key, v := m.At(i)
		if i > 0 {
			w.newLine(indent)
		}
		w.key(key, indent)
		switch x := v.(type) {
		case *param.Map:
			if x.Len() > 0 {
				w.newLine(indent + indentWidth)
				w.mapping(x, indent+indentWidth)
				continue
			}
		case []param.Value:
			if len(x) > 0 {
				w.newLine(indent)
				w.list(x, indent)
				continue
			}
		}
		w.put(" ")
		w.scalar(v, indent+indentWidth)
	}
}

func (w *yamlWriter) list(list []param.Value, indent int) {
	for i, v := range list {
		if i > 0 {
			w.newLine(indent)
		}
		w.put("- ")
		w.item(v, indent+indentWidth)
	}
}

// scalar writes a value that fits on the line; indent applies to folded text.
func (w *yamlWriter) scalar(v param.Value, indent int) {
	switch x := v.(type) {
	case string:
		w.quoted(x, indent)
	case param.Literal:
		w.quoted(string(x), indent)
	case float64:
		w.put(strings.Trim(param.FloatText(x), `"`))
	default:
		w.put(param.Text(v))
	}
}

// key writes a key and its colon.
func (w *yamlWriter) key(key string, indent int) {
	if utf8.RuneCountInString(key) >= keyWidth {
		w.put("? ")
		w.plainOr(key)
		w.newLine(indent)
	} else {
		w.plainOr(key)
	}
	w.put(":")
}

// plainOr writes a key bare, otherwise in single quotes, otherwise in double quotes.
func (w *yamlWriter) plainOr(key string) {
	special := strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || escape(r) != "" && r != '"' && r != '\\' })
	switch {
	case special:
		w.put(`"`)
		for _, r := range key {
			w.char(r)
		}
		w.put(`"`)
	case plainKey(key):
		w.put(key)
	default:
		w.put("'" + strings.ReplaceAll(key, "'", "''") + "'")
	}
}

// plainKey reports whether YAML reads the unquoted text back as this key.
func plainKey(key string) bool {
	if key == "" || strings.TrimSpace(key) != key || strings.Contains("#,[]{}&*!|>'\"%@`", key[:1]) {
		return false
	}
	for _, start := range []string{"---", "...", "- ", "? ", ": "} {
		if strings.HasPrefix(key, start) {
			return false
		}
	}
	return key != "-" && key != "?" && !strings.HasSuffix(key, ":") &&
		!strings.Contains(key, ": ") && !strings.Contains(key, " #")
}

// quoted writes text in double quotes. Text beyond the line width is folded at spaces and after escapes, as Digdag's
// YAML library does.
func (w *yamlWriter) quoted(s string, indent int) {
	w.put(`"`)
	runes := []rune(s)
	start := 0 // runes[start:i] are not written yet
	for i := 0; i <= len(runes); i++ {
		end := i == len(runes)
		if end || escape(runes[i]) != "" || runes[i] > '~' {
			w.put(string(runes[start:i]))
			if end {
				break
			}
			w.char(runes[i])
			start = i + 1
		}
		breakable := runes[i] == ' ' || start > i
		if breakable && 0 < i && i < len(runes)-1 && w.column+max(0, i-start) > lineWidth {
			w.put(string(runes[start:max(start, i)]) + `\`)
			start = max(start, i)
			w.newLine(indent)
			if runes[start] == ' ' {
				w.put(`\`)
			}
		}
	}
	w.put(`"`)
}

// char writes one character, escaped if necessary.
func (w *yamlWriter) char(r rune) {
	if e := escape(r); e != "" {
		w.put(e)
		return
	}
	w.put(string(r))
}

// escape returns the escape of a character in double quotes, "" if it needs none.
func escape(r rune) string {
	if ' ' <= r && r <= '~' && r != '"' && r != '\\' {
		return ""
	}
	const named = "\x000\aa\bb\tt\nn\vv\ff\rr\x1be\"\"\\\\\u0085N\u00a0_\u2028L\u2029P"
	for i, short := 0, []rune(named); i < len(short); i += 2 {
		if short[i] == r {
			return `\` + string(short[i+1])
		}
	}
	switch {
	case r < ' ', 0x7f <= r && r < 0xa0:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	case 0xd800 <= r && r < 0xe000, r > 0xfffd:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return ""
}
