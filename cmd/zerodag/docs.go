package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"zerodag/docs"
	"zerodag/operators"
	"zerodag/operators/all"
)

// newDocs lists the pages for users, or shows one: by its name, or by a word that it is about.
func newDocs(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{
		Use:     "docs [TOPIC]",
		Aliases: []string{"doc"},
		Short:   "Show the documentation: the list of topics, or one",
		Example: "  zerodag docs schedules          # a page\n" +
			"  zerodag docs _retry             # what a key, a variable or a setting is\n" +
			"  zerodag docs http               # an operator",
		Args: upTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := r.checkFormat(); err != nil {
				return err
			}
			if len(args) == 0 {
				return r.listTopics()
			}
			return r.showTopic(args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return topicNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	r.registerFormat(c)
	return c
}

// topic is a page, as programs see it.
type topic struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Title string `json:"title"`
	Page  string `json:"page,omitempty"` // Markdown, or the part of it that was asked for; not in lists
}

// topics reads the pages. A page is called as its file, those of the reference with their folder.
var topics = sync.OnceValues(func() (list []topic, err error) {
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
	return list, nil
})

func newTopic(group, file, page string) topic {
	name := strings.TrimSuffix(file, ".md")
	if path.Dir(file) != "reference" {
		name = path.Base(name)
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(page, "# "), "\n")
	return topic{Name: name, Group: group, Title: title, Page: page}
}

// topicNames are the names of all pages and operators.
func topicNames() []string {
	list, err := topics()
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return append(names, all.Registry().Names()...)
}

func (r *remote) listTopics() error {
	list, err := topics()
	if err != nil {
		return err
	}
	list, width := slices.Clone(list), 0
	for i := range list {
		list[i].Page = ""
		width = max(width, len(list[i].Name))
	}
	err = r.show(list, func(p printer) {
		group := ""
		for _, t := range list {
			if t.Group != group {
				group = t.Group
				p.line("%s", group)
			}
			p.line("  %-*s  %s", width, t.Name, t.Title)
		}
		p.line("")
	})
	r.hint("Use `zerodag docs <topic>` to show one; the name of a key, a variable, a setting or an operator will do, too.")
	return err
}

func (r *remote) showTopic(word string) error {
	list, err := topics()
	if err != nil {
		return err
	}
	found, ok := findTopic(list, strings.TrimSuffix(strings.TrimSuffix(word, ".md"), ":"))
	if !ok {
		hint := "`zerodag docs` lists all of them"
		if near := likely(word, topicNames()); near != "" {
			hint = "did you mean " + near + "?"
		} else if near := likely(word, headings(list)); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Errorf("there is no topic %s: %s", word, asCalled(hint))
	}
	if err := r.show(found, func(p printer) { p.WriteString(plainPage(found.Page)) }); err != nil {
		return err
	}
	if found.Name != word {
		r.hint("Use `zerodag docs %s` to show the whole page.", found.Name)
	}
	return nil
}

// findTopic looks for a page, then an operator, then the section of a page that is about the word: one with that heading,
// or a row that has it in its first column; then one that has it there as a part, as `sliding` of `_parallel: {sliding: true}`.
func findTopic(list []topic, word string) (topic, bool) {
	if i := slices.IndexFunc(list, func(t topic) bool { return t.Name == word }); i >= 0 {
		return list[i], true
	}
	if name := strings.TrimSuffix(word, ">"); slices.Contains(all.Registry().Names(), name) {
		page, ok := operators.Page(name)
		return topic{Name: word, Group: "Operators", Title: name + ">", Page: page}, ok
	}
	if found, ok := sectionOf(list, word, section.called, section.row); ok {
		return found, true
	}
	if found, ok := parameterTopic(word); ok {
		return found, true
	}
	if i := slices.IndexFunc(list, func(t topic) bool { return strings.HasSuffix(t.Name, "-"+word) }); i >= 0 { // dagu: from-dagu
		return list[i], true
	}
	return sectionOf(list, word, section.naming, section.partRow)
}

// sectionOf finds the section that is about a word by the first of some rules that finds any.
func sectionOf(list []topic, word string, rules ...func(section, string) string) (topic, bool) {
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
	return topic{}, false
}

// parameterTopic says which operators have a parameter of a name.
func parameterTopic(name string) (topic, bool) {
	var having []string
	for _, operator := range all.Registry().Names() {
		if slices.Contains(operators.ParametersOf(operator), name) {
			having = append(having, operator)
		}
	}
	if len(having) == 0 {
		return topic{}, false
	}
	text := fmt.Sprintf("# %s\n\nA parameter of %s>.\n", name, strings.Join(having, ">, "))
	return topic{Name: having[0], Group: "Operators", Title: name, Page: text}, true
}

// section is a part of a page under a heading of its own.
type section struct{ heading, text string }

// sectionsOf cuts a page at its headings; a comment in a sample is none.
func sectionsOf(page string) (list []section) {
	code := false
	for line := range strings.Lines(page) {
		if isFence(line) {
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

// called is the section if its heading is the word, or several of which that is one; else "".
func (s section) called(word string) string {
	for part := range strings.SplitSeq(strings.ReplaceAll(s.heading, "`", ""), " and ") {
		if strings.EqualFold(part, word) {
			return s.text
		}
	}
	return ""
}

// inCode is a word in the first cell of a row.
var inCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })

// keys are the names of which a piece of code is made.
var keys = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][\w-]*`) })

func isKey(code, word string) bool {
	return strings.TrimSuffix(code, ">") == strings.TrimSuffix(word, ">")
}

func hasKey(code, word string) bool { return slices.Contains(keys().FindAllString(code, -1), word) }

// naming is the section if code of its heading has the word as a part; else "".
func (s section) naming(word string) string {
	for _, m := range inCode().FindAllStringSubmatch(s.heading, -1) {
		if hasKey(m[1], word) {
			return s.text
		}
	}
	return ""
}

func (s section) row(word string) string     { return s.rows(word, isKey) }
func (s section) partRow(word string) string { return s.rows(word, hasKey) }

// rows is the section with no more of its first table that has the word than the rows about it; "" for none.
func (s section) rows(word string, about func(code, word string) bool) string {
	var head, rows []string
	for line := range strings.Lines(s.text) {
		cells, isRow := strings.CutPrefix(line, "|")
		switch {
		case !isRow && len(rows) > 0:
		case !isRow:
			head = nil
		case len(head) < 2: // the names of the columns, and the line below them
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

// headings are those of all pages that are a word of the language.
func headings(list []topic) (words []string) {
	for _, t := range list {
		for _, s := range sectionsOf(t.Page) {
			for _, m := range inCode().FindAllStringSubmatch(s.heading, -1) {
				words = append(words, m[1])
			}
		}
	}
	return words
}
