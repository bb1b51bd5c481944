package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/manual"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// newDocs returns the command that lists the user pages, shows one by its name or by a term that it defines, or
// searches them.
func newDocs(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var search bool
	c := &cobra.Command{
		Use:     "docs [TOPIC | WORDS...]",
		Aliases: []string{"doc"},
		Short:   "Show or search the documentation",
		Long: "Without arguments, lists the pages. With the name of a page, an operator, a key, a variable or a setting, shows what it is.\n" +
			"With any other words, searches all pages; words of other tools are understood.",
		Example: "  zerodag docs schedules             # a page\n" +
			"  zerodag docs _retry                # a key, a variable or a setting\n" +
			"  zerodag docs http                  # an operator\n" +
			"  zerodag docs pass files to a task  # search",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := r.CheckFormat(); err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				return r.listTopics()
			case len(args) > 1 || search:
				return r.searchTopics(strings.Join(args, " "))
			}
			return r.showTopic(args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return manual.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&search, "search", false, "search, even if a page or a key has this name")
	r.RegisterFormat(c)
	return c
}

func (r *remote) listTopics() error {
	list, err := manual.Topics()
	if err != nil {
		return err
	}
	list, width := slices.Clone(list), 0
	for i := range list {
		list[i].Page = ""
		width = max(width, len(list[i].Name))
	}
	err = r.Show(list, func(p cli.Printer) {
		group := ""
		for _, t := range list {
			if t.Group != group {
				group = t.Group
				p.Line("%s", group)
			}
			p.Line("  %-*s  %s", width, t.Name, t.Title)
		}
		p.Line("")
	})
	r.Hint("Use `zerodag docs TOPIC` to show a page, a key, a variable, a setting or an operator, and `zerodag docs WORDS` to search all pages.")
	return err
}

func (r *remote) showTopic(word string) error {
	found, err := manual.Find(word)
	if err != nil {
		if hits, meant, searched := manual.Search(word, mostHits); searched == nil && len(hits) > 0 && len(meant) == 0 {
			return r.showHits(hits, nil)
		}
		return err
	}
	if err := r.Show(found, func(p cli.Printer) { p.WriteString(term.PlainPage(found.Page, found.Address)) }); err != nil {
		return err
	}
	if name, _, _ := strings.Cut(word, "#"); found.Name != strings.TrimSuffix(name, ">") {
		r.Hint("Use `zerodag docs %s` to show the whole page, and `zerodag docs --search %s` to search all pages.", found.Name, word)
	}
	return nil
}

// mostHits is how many sections a search shows: as many as fit on a screen.
const mostHits = 8

func (r *remote) searchTopics(words string) error {
	hits, meant, err := manual.Search(words, mostHits)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		return fmt.Errorf("no page mentions %q: %s", words, program.AsCalled("`zerodag docs` lists all pages"))
	}
	return r.showHits(hits, meant)
}

func (r *remote) showHits(hits []manual.Hit, meant []string) error {
	err := r.Show(hits, func(p cli.Printer) {
		for _, h := range hits {
			title := h.Page
			if h.Heading != "" {
				title += ": " + h.Heading
			}
			p.Line("%s  (%s)", h.Address, title)
			p.Line("    %s", term.ShortenEnd(h.Text, 110))
		}
		p.Line("")
	})
	if len(meant) > 0 {
		r.Hint("No page has these words as you wrote them; the search was for: %s", strings.Join(meant, ", "))
	}
	r.Hint("Use `zerodag docs %s` to show the first one.", hits[0].Address)
	return err
}
