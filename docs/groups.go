package docs

import (
	"io/fs"
	"slices"
)

// Group is a part of the list of pages.
type Group struct {
	Title string
	Files []string // names in Pages
}

// Groups lists all pages for users, in the order in which a new user should meet them.
func Groups() ([]Group, error) {
	list := []Group{
		{"Begin here", []string{"tutorial.md", "tour.md", "comparison.md"}},
		{"The language", []string{"language/*.md"}},
		{"How to", []string{"how-to/*.md"}},
		{"Running it", []string{rest}},
		{"Reference", []string{"operators.md", "reference/commands.md", "reference/rest.md"}},
		{"How it works inside", []string{"guarantees.md", "how-it-works.md", "glossary.md", "state-machine.md", "packages.md", "reference/[a-bd-q]*.md", "reference/wire.md", "reference/zerodag-1.md"}},
	}
	var taken []string // by name, wherever the name is in the list
	for _, g := range list {
		taken = append(taken, g.Files...)
	}
	for i, g := range list {
		list[i].Files = nil
		for _, pattern := range g.Files {
			files, err := fs.Glob(Pages, pattern)
			if err != nil {
				return nil, err
			}
			if pattern == rest {
				files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(taken, file) })
			}
			list[i].Files = append(list[i].Files, files...)
		}
	}
	return list, nil
}

// rest stands for every page at the top level that no group names.
const rest = "*.md"
