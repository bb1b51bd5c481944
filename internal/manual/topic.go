package manual

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"zerodag/docs"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/operators"
	"zerodag/operators/all"
)

// Topic is a page in the form that programs use.
type Topic struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Title string `json:"title"`
	Page  string `json:"page,omitempty"` // Markdown, or the requested part of it; not in lists
	file  string // relative to docs/
}

// Topics returns all pages, in order. The name of a page is its file's name; for reference pages, it includes the
// folder.
func Topics() ([]Topic, error) {
	list, err := pages()
	return slices.Clone(list), err
}

// pages reads all pages once.
var pages = sync.OnceValues(func() (list []Topic, err error) {
	groups, err := docs.Groups()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, file := range g.Files {
			text, err := docs.Pages.ReadFile(file)
			if err != nil {
				return nil, err
			}
			list = append(list, newTopic(g.Title, file, string(text)))
		}
	}
	shared := operators.SharedPages()
	for _, folder := range slices.Sorted(maps.Keys(shared)) {
		t := newTopic(ofOperators, "../operators/"+folder+"/README.md", shared[folder])
		t.Name = "operators/" + folder
		list = append(list, t)
	}
	return list, nil
})

// ofOperators is the group of the pages in the operators' folders.
const ofOperators = "Operators"

func newTopic(group, file, page string) Topic {
	name := strings.TrimSuffix(file, ".md")
	if path.Dir(file) != "reference" {
		name = path.Base(name)
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(page, "# "), "\n")
	return Topic{Name: name, Group: group, Title: title, Page: page, file: file}
}

// Names returns the names of all pages and operators.
func Names() []string {
	list, err := Topics()
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return append(names, all.Registry().Names()...)
}

// operatorTopics returns the pages of all built-in operators.
var operatorTopics = sync.OnceValue(func() (list []Topic) {
	for _, name := range all.Registry().Names() {
		if t, ok := operatorTopic(name); ok {
			list = append(list, t)
		}
	}
	return list
})

// everything returns all pages, including the operators' pages.
var everything = sync.OnceValues(func() ([]Topic, error) {
	list, err := pages()
	return slices.Concat(list, operatorTopics()), err
})

func operatorTopic(name string) (Topic, bool) {
	page, folder, ok := operators.PageIn(name)
	return Topic{Name: name, Group: ofOperators, Title: name + ">", Page: page, file: "../operators/" + folder + "/README.md"}, ok
}

// Find returns the page, or the part of a page, about a word: the name of a page or its file, optionally with a section
// (schedules#cron), an operator, a key, a variable or a setting. The error suggests the topic that was probably meant.
func Find(word string) (Topic, error) {
	list, err := Topics()
	if err != nil {
		return Topic{}, err
	}
	if found, ok := findTopic(list, strings.TrimSuffix(strings.TrimSuffix(word, ".md"), ":")); ok {
		return found, nil
	}
	hint := "`zerodag docs` lists all of them"
	if near := remedy.Near(word, Names()); near != "" {
		hint = "did you mean " + near + "?"
	} else if near := remedy.Near(word, headings(list)); near != "" {
		hint = "did you mean " + near + "?"
	}
	return Topic{}, fmt.Errorf("there is no topic %s: %s", word, program.AsCalled(hint))
}
