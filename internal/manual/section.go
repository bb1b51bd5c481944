package manual

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"zerodag/internal/program"
	"zerodag/internal/term"
	"zerodag/operators"
	"zerodag/operators/all"
)

// findTopic searches for a page, then an operator, then the section of a page about the word: a section with that
// heading, or a row with the word in its first column; then a row that contains it as a part, such as `sliding` in
// `_parallel: {sliding: true}`. Everything else is left to Search.
func findTopic(list []Topic, word string) (Topic, bool) {
	if i := slices.IndexFunc(list, func(t Topic) bool { return t.Name == word }); i >= 0 {
		return list[i], true
	}
	if name := strings.TrimSuffix(word, ">"); slices.Contains(all.Registry().Names(), name) {
		return operatorTopic(name)
	}
	if name, anchor, ok := strings.Cut(word, "#"); ok {
		return anchoredTopic(list, strings.TrimSuffix(name, ".md"), anchor)
	}
	if found, ok := sectionOf(list, word, section.defining); ok {
		return found, true
	}
	if word == strings.ToLower(word) && !strings.ContainsAny(word, "_->.:/") {
		return Topic{}, false // an English word: a heading or row that contains it is not necessarily about it
	}
	if found, ok := sectionOf(list, word, section.called, section.row); ok {
		return found, true
	}
	if having := operatorsWith(word); len(having) > 0 {
		found, ok := sectionOf(having, word, section.row)
		return found, ok && len(having) == 1 // otherwise any of the sections may be meant
	}
	return sectionOf(list, word, section.naming, section.partRow)
}

// anchoredTopic returns a section of a page, given the anchor of its link.
func anchoredTopic(list []Topic, name, anchor string) (Topic, bool) {
	page, ok := findTopic(list, name)
	if !ok {
		return Topic{}, false
	}
	page.Page = page.at(anchor)
	return page, page.Page != ""
}

// at returns the section of a page for a link's anchor; "" if there is none.
func (t Topic) at(anchor string) string {
	for _, s := range sectionsOf(t.Page) {
		if slug(s.heading) == anchor {
			return s.text
		}
	}
	return ""
}

// slug returns the anchor of a link to a heading, as websites that show Markdown create it.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.ReplaceAll(heading, " ", "-")) {
		if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sectionOf finds the section about a word, using the first of several rules that finds one.
func sectionOf(list []Topic, word string, rules ...func(section, string) string) (Topic, bool) {
	for _, about := range rules {
		for _, t := range list {
			for _, s := range sectionsOf(t.Page) {
				if text := about(s, word); text != "" {
					t.Page = text
					return t, true
				}
			}
		}
	}
	return Topic{}, false
}

// operatorsWith returns the pages of the operators that have a parameter with the given name.
func operatorsWith(parameter string) (list []Topic) {
	for _, t := range operatorTopics() {
		if slices.Contains(operators.ParametersOf(strings.TrimSuffix(t.Title, ">")), parameter) {
			list = append(list, t)
		}
	}
	return list
}

// section is a part of a page under a heading.
type section struct{ heading, text string }

// sectionsOf splits a page at its headings; a comment in a sample does not count as a heading.
func sectionsOf(page string) (list []section) {
	code := false
	for line := range strings.Lines(page) {
		if term.IsFence(line) {
			code = !code
		}
		if marks, title, found := strings.Cut(line, " "); found && !code && marks != "" && strings.Trim(marks, "#") == "" {
			list = append(list, section{heading: strings.TrimSpace(title)})
		}
		if len(list) > 0 {
			list[len(list)-1].text += line
		}
	}
	return list
}

// called returns the section if its heading is the word or lists it among others; otherwise "".
func (s section) called(word string) string {
	for part := range strings.SplitSeq(strings.ReplaceAll(s.heading, "`", ""), " and ") {
		if strings.EqualFold(part, word) {
			return s.text
		}
	}
	return ""
}

// defining returns the section if its heading is the word, formatted as code.
func (s section) defining(word string) string {
	if strings.Contains(s.heading, "`") {
		return s.called(word)
	}
	return ""
}

// inCode matches a word formatted as code in the first cell of a row.
var inCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })

// keys matches the names in a piece of code.
var keys = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][\w-]*`) })

func isKey(code, word string) bool {
	return strings.TrimSuffix(code, ">") == strings.TrimSuffix(word, ">")
}

func hasKey(code, word string) bool { return slices.Contains(keys().FindAllString(code, -1), word) }

// naming returns the section if code in its heading contains the word as a part; otherwise "".
func (s section) naming(word string) string {
	for _, m := range inCode().FindAllStringSubmatch(s.heading, -1) {
		if hasKey(m[1], word) {
			return s.text
		}
	}
	return ""
}

func (s section) row(word string) string { return s.rows(word, isKey) }

func (s section) partRow(word string) string { return s.rows(word, hasKey) }

// rows returns the section, reduced to the rows about the word in the first table that contains it; "" for none.
func (s section) rows(word string, about func(code, word string) bool) string {
	var head, rows []string
	for line := range strings.Lines(s.text) {
		cells, isRow := strings.CutPrefix(line, "|")
		switch {
		case !isRow && len(rows) > 0:
		case !isRow:
			head = nil
		case len(head) < 2: // the column names and the line below them
			head = append(head, line)
		default:
			first, _, _ := strings.Cut(cells, "|")
			for _, m := range inCode().FindAllStringSubmatch(first, -1) {
				if about(m[1], word) && !slices.Contains(rows, line) {
					rows = append(rows, line)
				}
			}
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "## " + s.heading + "\n\n" + strings.Join(append(head, rows...), "")
}

// headings returns the headings, on all pages, that are words of the language.
func headings(list []Topic) (words []string) {
	for _, t := range list {
		for _, s := range sectionsOf(t.Page) {
			for _, m := range inCode().FindAllStringSubmatch(s.heading, -1) {
				words = append(words, m[1])
			}
		}
	}
	return words
}

// Address returns the text that a page shows for the target of a link: the command that prints it if it is a page of
// the manual, otherwise the URL or the path in the repository.
func (t Topic) Address(target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return target
	}
	file, anchor, anchored := strings.Cut(target, "#")
	if anchored {
		anchor = "#" + anchor
	}
	file = path.Join("docs", path.Dir(t.file), file)
	if strings.HasPrefix(target, "#") {
		file = path.Join("docs", t.file)
	}
	list, err := everything()
	if err != nil {
		return target
	}
	name := ""
	for _, page := range list { // several operators may share a file
		if path.Join("docs", page.file) == file && (name == "" || page.at(strings.TrimPrefix(anchor, "#")) != "") {
			name = page.Name
		}
	}
	if name != "" {
		return program.Called() + " docs " + name + anchor
	}
	return file + anchor + " (in the source)"
}
