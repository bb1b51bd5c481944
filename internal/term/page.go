package term

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pageWidth is the length of a page's lines in a terminal.
const pageWidth = 80

// PlainPage renders the Markdown of a user page as text for a terminal: titles, paragraphs, lists, tables and code
// samples, which is everything that the pages use. Links have numbers, and a list of their targets follows the page.
// address returns the text to show for a target; a link without such text has no number.
func PlainPage(markdown string, address func(target string) string) string {
	p := plain{address: address}
	lines := strings.Split(strings.TrimRight(unseen().ReplaceAllString(markdown, ""), "\n"), "\n")
	for i := 0; i < len(lines); {
		begin := i
		first := lines[i]
		switch {
		case first == "":
			i++
		case IsFence(first):
			i = after(lines, i+1, func(l string) bool { return !IsFence(l) }) + 1
			p.code(lines[begin+1 : min(i-1, len(lines))])
		case strings.HasPrefix(first, indented4):
			i = after(lines, i, func(l string) bool { return strings.HasPrefix(l, indented4) })
			for n := begin; n < i; n++ {
				lines[n] = lines[n][len(indented4):]
			}
			p.code(lines[begin:i])
		case strings.HasPrefix(first, "|"):
			i = after(lines, i, func(l string) bool { return strings.HasPrefix(l, "|") })
			p.table(lines[begin:i])
		case strings.HasPrefix(first, "#"):
			i++
			p.title(first)
		default:
			i = after(lines, i+1, func(l string) bool { return l != "" && !begins(l) })
			p.paragraph(strings.Join(lines[begin:i], " "))
			if i == len(lines) || itemMark(lines[i]) == "" {
				p.WriteString("\n")
			}
		}
	}
	if len(p.targets) > 0 {
		p.title("## Links")
		for i, target := range p.targets {
			fmt.Fprintf(&p, "  [%d] %s\n", i+1, target)
		}
		p.WriteString("\n")
	}
	return p.String()
}

// unseen matches comments and pictures, which browsers do not show or show differently.
var unseen = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(<!--.*?-->|!\[[^\]]*\]\([^)]*\))\n?`) })

// indented4 begins the lines of a code sample without a fence.
const indented4 = "    "

// IsFence reports whether a line of Markdown begins or ends a code sample, possibly within a list.
func IsFence(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "```") }

// itemMark returns the beginning of a list entry: "- ", or a number; "" if the line does not begin one.
func itemMark(line string) string {
	if strings.HasPrefix(line, "- ") {
		return "- "
	}
	if rest := strings.TrimLeft(line, "0123456789"); rest != line && strings.HasPrefix(rest, ". ") {
		return line[:len(line)-len(rest)+len(". ")]
	}
	return ""
}

// begins reports whether a line is not part of the paragraph before it.
func begins(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|") || IsFence(line) || itemMark(line) != ""
}

// after returns the first line from i on that does not continue what has begun.
func after(lines []string, i int, goesOn func(string) bool) int {
	for i < len(lines) && goesOn(lines[i]) {
		i++
	}
	return i
}

// plain is a page as it grows.
type plain struct {
	strings.Builder
	address func(string) string
	targets []string // the targets of links, in the order of their numbers
}

// links puts the number of its target behind the text of each link.
func (p *plain) links(text string) string {
	return link().ReplaceAllStringFunc(text, func(l string) string {
		m := link().FindStringSubmatch(l)
		target := p.address(m[2])
		if target == "" || target == m[1] {
			return m[1]
		}
		i := slices.Index(p.targets, target)
		if i < 0 {
			i = len(p.targets)
			p.targets = append(p.targets, target)
		}
		return fmt.Sprintf("%s [%d]", m[1], i+1)
	})
}

func (p *plain) title(line string) {
	marks, text, _ := strings.Cut(line, " ")
	if len(marks) > 1 && !strings.Contains(text, "`") { // names can be recognized by their letters
		text = strings.ToUpper(text)
	}
	text = strings.ReplaceAll(text, "`", "")
	p.WriteString(text + "\n")
	if len(marks) == 1 {
		p.WriteString("\n")
	}
}

func (p *plain) paragraph(text string) {
	rest := "  " + strings.Repeat(" ", len(itemMark(text)))
	p.WriteString(wrapped(p.links(text), "  ", rest, pageWidth))
}

func (p *plain) code(lines []string) {
	for _, l := range lines {
		p.WriteString(strings.TrimRight("      "+l, " ") + "\n")
	}
	p.WriteString("\n")
}

// table writes a line for the subject of each row, and its description below.
func (p *plain) table(lines []string) {
	head := Cells(lines[0])
	for _, row := range lines[min(2, len(lines)):] {
		cells := Cells(row)
		for i, cell := range cells {
			cells[i] = p.links(cell)
		}
		about, say := cells[0], strings.Join(cells[1:], "  ")
		switch {
		case len(cells) == 4 && len(head) == 4 && head[2] == "default": // name, type, default, meaning
			about += " (" + typeAndDefault(cells[1], cells[2]) + ")"
			say = cells[3]
		case len(cells) > 2:
			say = labelled(head[1:], cells[1:])
		}
		about = strings.ReplaceAll(about, "`", "") // it is not part of a sentence
		p.WriteString(wrapped(about, "  ", "      ", pageWidth))
		if text := strings.TrimSpace(say); text != "" {
			p.WriteString(wrapped(text, "      ", "      ", pageWidth))
		}
	}
	p.WriteString("\n")
}

// labelled puts the name of its column before each cell that is not empty.
func labelled(names, cells []string) string {
	var parts []string
	for i, cell := range cells {
		if cell != "" && i < len(names) && names[i] != "" {
			cell = names[i] + ": " + cell
		}
		if cell != "" {
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, "; ")
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

// codeTag matches code in a table that contains a vertical bar, which Markdown would take for the end of a cell:
// <code>a&#124;b</code>.
var codeTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<code>([^<]*)</code>`) })

// Cells splits a row of a Markdown table; "\|" is a vertical bar within a cell.
func Cells(row string) []string {
	row = strings.ReplaceAll(row, `\|`, "\x00")
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	cells := strings.Split(row, "|")
	for i, c := range cells {
		c = codeTag().ReplaceAllStringFunc(c, func(code string) string { return html.UnescapeString(codeTag().ReplaceAllString(code, "`$1`")) })
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells
}

var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]+)\]\(([^)]*)\)`) })

// WithoutMarks returns a Markdown line as plain text: without link targets and without marks for code and emphasis.
func WithoutMarks(line string) string {
	return strings.NewReplacer("`", "", "**", "").Replace(link().ReplaceAllString(line, "$1"))
}
