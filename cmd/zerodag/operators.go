package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/param"
	"zerodag/internal/manual"
	"zerodag/internal/term"
	"zerodag/operators"
	"zerodag/operators/all"
)

// newOperators returns the command that lists the operators, or shows the user page of one.
func newOperators(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{
		Use:     "operators [NAME]",
		Aliases: []string{"operator"},
		Short:   "List the built-in operators, or show the page of one",
		Args:    cli.UpTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := r.CheckFormat(); err != nil {
				return err
			}
			if len(args) == 0 {
				return r.listOperators(all.Registry())
			}
			return r.showOperator(all.Registry(), strings.TrimSuffix(args[0], ">"))
		},
	}
	r.RegisterFormat(c)
	return c
}

// operatorInfo is an operator in results for programs.
type operatorInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Page    string `json:"page,omitempty"` // Markdown; only if one operator is requested
}

func (r *remote) listOperators(registry operators.Registry) error {
	var list []operatorInfo
	width := 0
	for _, name := range registry.Names() {
		list = append(list, operatorInfo{Name: name, Summary: registry[name].Summary})
		width = max(width, len(name)+len(">"))
	}
	err := r.Show(list, func(p cli.Printer) {
		for _, o := range list {
			p.Line("  %-*s  %s", width, o.Name+">", o.Summary)
		}
		p.Line("")
	})
	r.Hint("Use `zerodag operators <name>` to show parameters, an example and errors.")
	r.Hint("Executables in operators/ of a project are also operators: see `zerodag docs plugins`.")
	return err
}

func (r *remote) showOperator(registry operators.Registry, name string) error {
	if !slices.Contains(registry.Names(), name) {
		hint := "`zerodag operators` lists all of them"
		if text := operators.Missing(name); text != "" {
			hint = text
		} else if near := param.Suggest(name, registry.Names()); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return fmt.Errorf("there is no built-in operator %s>: %s", name, hint)
	}
	t, err := manual.Find(name + ">")
	if err != nil {
		return err
	}
	return r.Show(operatorInfo{name, registry[name].Summary, t.Page}, func(p cli.Printer) { p.WriteString(term.PlainPage(t.Page, t.Address)) })
}
