// Package written prints workflow files as a person would write them, with comments about what was not translated, and
// checks that a push would accept them. It must not change a workflow.
package written

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Comment is a key that is printed as a comment.
const Comment = "#"

// Print writes a workflow as a person would: short strings without quotes, and multi-line commands as blocks. It begins
// with comments: an optional heading, and the steps and keys that the workflow lacks.
func Print(d *document.Document, heading string, tree *param.Map) []byte {
	var b strings.Builder
	comment := func(text string) {
		for line := range strings.Lines(text) {
			b.WriteString("# " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	comment(heading)
	comment("From " + path.Base(d.File) + " by `zerodag import dagu`.")
	for _, n := range d.Notes {
		if n.Lost {
			comment("Not translated from line " + param.Text(int64(n.Line)) + ": " + n.Message + ". " +
				strings.ToUpper(n.Remedy[:1]) + n.Remedy[1:] + ".")
		}
	}
	printMap(&b, tree, "")
	return []byte(b.String())
}

func printMap(b *strings.Builder, m *param.Map, indent string) {
	previous := ""
	for key, v := range m.All() {
		if key == Comment {
			b.WriteString(indent + "# " + strings.Join(strings.Fields(document.TextOf(v)), " ") + "\n")
			continue
		}
		if indent == "" && (strings.HasPrefix(key, "+") || strings.HasPrefix(previous, "+")) {
			b.WriteString("\n")
		}
		previous = key
		b.WriteString(indent + scalar(key) + ":")
		printValue(b, v, indent+"  ")
	}
}

func printValue(b *strings.Builder, v param.Value, indent string) {
	switch x := v.(type) {
	case *param.Map:
		if flat := flowMap(x, indent); flat != "" {
			b.WriteString(" " + flat + "\n")
			return
		}
		b.WriteString("\n")
		printMap(b, x, indent)
	case []param.Value:
		if flat := flow(x); flat != "" {
			b.WriteString(" " + flat + "\n")
			return
		}
		b.WriteString("\n")
		for _, e := range x {
			b.WriteString(indent + "-")
			printValue(b, e, indent+"  ")
		}
	case string:
		b.WriteString(" " + block(x, indent) + "\n")
	default:
		b.WriteString(" " + param.Text(v) + "\n")
	}
}

// flowMap prints a mapping of a few plain values on one line; "" if it is not such a mapping, is too long, or is at the
// top level.
func flowMap(m *param.Map, indent string) string {
	if m.Len() == 0 {
		return "{}"
	}
	if m.Has(Comment) {
		return ""
	}
	parts := make([]string, 0, m.Len())
	for key, v := range m.All() {
		list, isList := v.([]param.Value)
		if !isList {
			list = []param.Value{v}
		}
		flat := flow(list)
		if flat == "" || strings.ContainsAny(flat, "\n") || strings.HasSuffix(key, ">") ||
			indent == "  " && !strings.HasPrefix(key, "limit") && !strings.HasPrefix(key, "attempts") {
			return ""
		}
		if !isList {
			flat = flat[1 : len(flat)-1]
		}
		parts = append(parts, scalar(key)+": "+flat)
	}
	if text := "{" + strings.Join(parts, ", ") + "}"; len(indent)+len(text) < 120 {
		return text
	}
	return ""
}

// flow prints a list of plain values on one line; "" if it is not such a list or is too long.
func flow(list []param.Value) string {
	parts := make([]string, len(list))
	for i, v := range list {
		switch x := v.(type) {
		case *param.Map, []param.Value:
			return ""
		case string:
			if parts[i] = scalar(x); strings.ContainsAny(parts[i], "[]{},?") && parts[i][0] != '"' {
				parts[i] = quoted(x)
			}
		default:
			parts[i] = param.Text(v)
		}
	}
	if text := "[" + strings.Join(parts, ", ") + "]"; len(text) < 100 {
		return text
	}
	return ""
}

// block prints a string as a value: a multi-line command keeps its line breaks.
func block(text, indent string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") ||
		strings.HasSuffix(text, "\n\n") || strings.ContainsAny(text, "\r\u0085\u2028\u2029") || !printable(text) {
		return scalar(text)
	}
	mark := "|-"
	if strings.HasSuffix(text, "\n") {
		mark = "|"
	}
	for i, line := range lines {
		if lines[i] = indent + line; line == "" {
			lines[i] = ""
		}
	}
	return mark + "\n" + strings.Join(lines, "\n")
}

func printable(text string) bool {
	return !strings.ContainsFunc(text,
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfeff })
}

var (
	plainText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z_/$.+]|-[A-Za-z])[A-Za-z0-9_/$.+=@%^(){}<>;,|&*?!'"\[\]~ -]*$`)
	})
	reserved = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|[-+][0-9].*)$`)
	})
)

// scalar prints a string on one line, without quotes if YAML does not need them.
func scalar(text string) string {
	if plainText().MatchString(text) && !reserved().MatchString(text) && !strings.HasSuffix(text, " ") &&
		!strings.Contains(text, " #") {
		return text
	}
	return quoted(text)
}

func quoted(text string) string { return param.Text(text) }
