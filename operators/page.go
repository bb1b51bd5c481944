package operators

import (
	"embed"
	"path"
	"strings"
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

// SummaryLine is the summary as a sentence: the first paragraph of the operator's page.
func (o Operator) SummaryLine() string {
	if o.Summary == "" {
		return ""
	}
	return strings.ToUpper(o.Summary[:1]) + o.Summary[1:] + "."
}
