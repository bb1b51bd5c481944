package main

import (
	"slices"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/manual"
	"zerodag/internal/term"
)

// newDocs lists the user pages, or shows one: by its name, or by a term that it covers.
func newDocs(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{
		Use:     "docs [TOPIC]",
		Aliases: []string{"doc"},
		Short:   "Show the documentation: the list of topics, or one",
		Example: "  zerodag docs schedules          # a page\n" +
			"  zerodag docs _retry             # what a key, a variable or a setting is\n" +
			"  zerodag docs http               # an operator",
		Args: cli.UpTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := r.CheckFormat(); err != nil {
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
			return manual.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
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
	r.Hint("Use `zerodag docs <topic>` to show one; the name of a key, a variable, a setting or an operator will do, too.")
	return err
}

func (r *remote) showTopic(word string) error {
	found, err := manual.Find(word)
	if err != nil {
		return err
	}
	if err := r.Show(found, func(p cli.Printer) { p.WriteString(term.PlainPage(found.Page)) }); err != nil {
		return err
	}
	if found.Name != word {
		r.Hint("Use `zerodag docs %s` to show the whole page.", found.Name)
	}
	return nil
}
