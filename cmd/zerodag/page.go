package main

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// pageWidth is the length of lines of a page in a terminal.
const pageWidth = 80

// plainPage turns the Markdown of a user page into text that reads well as it is: titles,
// paragraphs, lists, tables and samples of code, which is all that pages have.
func plainPage(markdown string) string {
	var p plain
	lines := strings.Split(strings.TrimRight(markdown, "\n"), "\n")
	for i := 0; i < len(lines); {
		begin := i
		first := lines[i]
		switch {
		case first == "":
			i++
		case strings.HasPrefix(first, "```"):
			i = after(lines, i+1, func(l string) bool { return !strings.HasPrefix(l, "```") }) + 1
			p.code(lines[begin+1 : min(i-1, len(lines))])
		case strings.HasPrefix(first, "|"):
			i = after(lines, i, func(l string) bool { return strings.HasPrefix(l, "|") })
			p.table(lines[begin:i])
		case strings.HasPrefix(first, "#"):
			i++
			p.title(first)
		default:
			i = after(lines, i+1, func(l string) bool { return l != "" && !begins(l) })
			p.paragraph(strings.Join(lines[begin:i], " "))
			if i == len(lines) || !strings.HasPrefix(lines[i], item) {
				p.WriteString("\n")
			}
		}
	}
	return p.String()
}

// item begins an entry of a list.
const item = "- "

// begins says that a line is not part of the paragraph before it.
func begins(line string) bool {
	for _, mark := range []string{"#", "|", "```", item} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

// after is the first line from i on that does not go on with what began.
func after(lines []string, i int, goesOn func(string) bool) int {
	for i < len(lines) && goesOn(lines[i]) {
		i++
	}
	return i
}

// plain is a page as it grows.
type plain struct{ strings.Builder }

func (p *plain) title(line string) {
	marks, text, _ := strings.Cut(line, " ")
	if len(marks) > 1 {
		text = strings.ToUpper(text)
	}
	p.WriteString(text + "\n")
	if len(marks) == 1 {
		p.WriteString("\n")
	}
}

func (p *plain) paragraph(text string) {
	indent, rest := "  ", "  "
	if strings.HasPrefix(text, item) {
		rest = "    "
	}
	p.WriteString(wrapped(withoutLinks(text), indent, rest))
}

func (p *plain) code(lines []string) {
	for _, l := range lines {
		p.WriteString(strings.TrimRight("      "+l, " ") + "\n")
	}
	p.WriteString("\n")
}

// table writes a line for what a row is about, and what is said of it below.
func (p *plain) table(lines []string) {
	for _, row := range lines[min(2, len(lines)):] {
		cells := cellsOf(row)
		about, say := cells[0], cells[1:]
		if len(cells) == 4 { // name, type, default, meaning
			about += " (" + typeAndDefault(cells[1], cells[2]) + ")"
			say = cells[3:]
		}
		about = strings.ReplaceAll(about, "`", "") // it stands alone
		p.WriteString(wrapped(about, "  ", "      "))
		if text := strings.TrimSpace(strings.Join(say, "  ")); text != "" {
			p.WriteString(wrapped(text, "      ", "      "))
		}
	}
	p.WriteString("\n")
}

func typeAndDefault(kind, value string) string {
	switch value {
	case "", "–":
		return kind
	case "required":
		return kind + ", required"
	case "none":
		return kind + ", optional"
	}
	return kind + "; default: " + value
}

// cellsOf splits a row of a table; "\|" is a bar within a cell.
func cellsOf(row string) []string {
	row = strings.ReplaceAll(row, `\|`, "\x00")
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	cells := strings.Split(row, "|")
	for i, c := range cells {
		cells[i] = withoutLinks(strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")))
	}
	return cells
}

var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`) })

// withoutLinks keeps the text of links and leaves out where they lead.
func withoutLinks(text string) string { return link().ReplaceAllString(text, "$1") }

// wrapped breaks text into lines of pageWidth; a word that is longer has a line of its own.
func wrapped(text, first, rest string) string {
	var b strings.Builder
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > pageWidth {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
	return b.String()
}
