package operators

import (
	"embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pages holds the user pages of the built-in operators: the README.md of every folder.
//
//go:embed */README.md
var pages embed.FS

// Page returns the user page of a built-in operator, as Markdown, and whether it has one. A folder with several
// operators has their pages one after the other in its file; each begins with "# name>".
func Page(name string) (string, bool) {
	page, _, ok := PageIn(name)
	return page, ok
}

// PageIn is Page, with the name of the operator's folder.
func PageIn(name string) (page, folder string, ok bool) {
	for _, f := range folders() {
		if page, ok := cutPage(readme(f), "# "+name+">"); ok {
			return page, f, true
		}
	}
	return "", "", false
}

// SharedPages returns the pages about features that several operators have in common, by folder.
func SharedPages() map[string]string {
	shared := map[string]string{}
	for _, f := range folders() {
		if title, _, _ := strings.Cut(readme(f), "\n"); title != "" && !pageTitle().MatchString(title) {
			shared[f] = readme(f)
		}
	}
	return shared
}

// folders lists the folders of pages, and readme returns the file of one; it is empty if there is none.
func folders() (names []string) {
	list, err := pages.ReadDir(".")
	if err != nil {
		return nil
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

func readme(folder string) string {
	text, err := pages.ReadFile(path.Join(folder, "README.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

// pageTitle is the first line of a page.
var pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^# [a-z0-9_]+>$`) })

// allPages returns the pages of all built-in operators.
func allPages() []string {
	var all []string
	for _, f := range folders() {
		text := readme(f)
		for _, title := range pageTitle().FindAllString(text, -1) {
			if page, ok := cutPage(text, title); ok {
				all = append(all, page)
			}
		}
	}
	return all
}

// Named lists the built-in operators that have pages, for programs that run no operators.
func Named() []string { return slices.Clone(named()) }

var named = sync.OnceValue(func() []string {
	var names []string
	for _, page := range allPages() {
		title, _, _ := strings.Cut(page, "\n")
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(title, "# "), ">"))
	}
	slices.Sort(names)
	return names
})

// cutPage returns the part of text that begins with the line title and ends before the next title; comments in code
// samples do not count as titles.
func cutPage(text, title string) (string, bool) {
	var page strings.Builder
	found, code := false, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code && strings.HasPrefix(line, "# ") {
			if found {
				break
			}
			found = strings.TrimSpace(line) == title
		}
		if found {
			page.WriteString(line)
		}
	}
	return strings.TrimRight(page.String(), "\n") + "\n", found
}

// Example returns the first example on an operator's page; "" if there is none.
func Example(name string) string {
	page, _ := Page(name)
	_, section, _ := strings.Cut(page, "\n## Example\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, code, _ := strings.Cut(section, "```yaml\n")
	code, _, _ = strings.Cut(code, "```")
	return code
}

// Takes returns what an operator's page says about the value after its name; "" if nothing.
func Takes(name string) string {
	page, _ := Page(name)
	_, row, _ := strings.Cut(page, "\n| `"+name+">` |")
	kind, _, _ := strings.Cut(row, "|")
	return strings.TrimSpace(kind)
}

// Reason returns what an operator's page says about an error; "" if nothing.
func Reason(name, message string) string {
	page, _ := Page(name)
	_, section, _ := strings.Cut(page, "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 {
			continue
		}
		for _, m := range codeSpan().FindAllStringSubmatch(cells[0], -1) {
			if errorForm(m[1]).MatchString(message) {
				return pageLink().ReplaceAllString(strings.TrimSpace(cells[1]), "$1")
			}
		}
	}
	return ""
}

// pageLink matches a link of a page; its text is the first group.
var pageLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`) })

// openPart matches variable parts in the text of an error on a page: "…", a number, a name in quotes.
var openPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`…|'[a-z…]'|\b[nmN0-9]+\b`) })

// errorForm returns an expression for the errors that a page's text describes.
func errorForm(text string) *regexp.Regexp {
	var b strings.Builder
	rest := text
	for _, at := range openPart().FindAllStringIndex(text, -1) {
		b.WriteString(regexp.QuoteMeta(text[len(text)-len(rest):at[0]]) + `.*`)
		rest = text[at[1]:]
	}
	return regexp.MustCompile(`(?s)^` + b.String() + regexp.QuoteMeta(rest))
}

// Patterns for keys on a page.
var (
	codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })
	// exported matches the key of exported defaults on a page: `sh: {...}`.
	exported = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([a-z_0-9]+): ") })
)

// PageKeys reads the section "Parameters" of a page: the first column of its tables, and
// the key of exported defaults.
func PageKeys(page string) map[string]bool {
	_, section, _ := strings.Cut(page, "\n## Parameters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			for _, m := range exported().FindAllStringSubmatch(line, -1) {
				listed[m[1]] = true
			}
			continue
		}
		first, _, _ := strings.Cut(line[1:], "|")
		listed[strings.TrimSpace(first)] = true
		for _, m := range codeSpan().FindAllStringSubmatch(first, -1) {
			listed[m[1]] = true
		}
	}
	return listed
}

// SummaryLine returns the summary as a sentence: the first paragraph of the operator's page.
func (o Operator) SummaryLine() string {
	if o.Summary == "" {
		return ""
	}
	return strings.ToUpper(o.Summary[:1]) + o.Summary[1:] + "."
}
