package operators

import (
	"embed"
	"path"
	"regexp"
	"strings"
	"sync"
)

// pages holds the user pages of the built-in operators: the README.md of every folder.
//
//go:embed */README.md
var pages embed.FS

// Page returns the user page of a built-in operator, as Markdown, and whether it has one.
// A folder with several operators has their pages one after the other in its file; each
// begins with "# name>".
func Page(name string) (string, bool) {
	folders, err := pages.ReadDir(".")
	if err != nil {
		return "", false
	}
	for _, f := range folders {
		text, err := pages.ReadFile(path.Join(f.Name(), "README.md"))
		if err != nil {
			continue
		}
		if page, ok := cutPage(string(text), "# "+name+">"); ok {
			return page, true
		}
	}
	return "", false
}

// pageTitle is the first line of a page.
var pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^# [a-z0-9_]+>$`) })

// allPages are the pages of all built-in operators.
func allPages() []string {
	folders, err := pages.ReadDir(".")
	if err != nil {
		return nil
	}
	var all []string
	for _, f := range folders {
		text, err := pages.ReadFile(path.Join(f.Name(), "README.md"))
		if err != nil {
			continue
		}
		for _, title := range pageTitle().FindAllString(string(text), -1) {
			if page, ok := cutPage(string(text), title); ok {
				all = append(all, page)
			}
		}
	}
	return all
}

// cutPage takes the part of text that begins with the line title and ends before the next
// title; a comment in a sample of code is none.
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

// How a page names keys.
var (
	codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })
	// exported is how a page names the key under which defaults are: `sh: {...}`.
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

// SummaryLine is the summary as a sentence: the first paragraph of the operator's page.
func (o Operator) SummaryLine() string {
	if o.Summary == "" {
		return ""
	}
	return strings.ToUpper(o.Summary[:1]) + o.Summary[1:] + "."
}
