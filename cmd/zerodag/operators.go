package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/engine/param"
	"zerodag/internal/term"
	"zerodag/operators"
	"zerodag/operators/all"
)

// newOperators lists the words of the language, or shows the user page of one.
func newOperators(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{
		Use:     "operators [NAME]",
		Aliases: []string{"operator"},
		Short:   "Show the built-in operators, or the page of one",
		Args:    upTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := r.checkFormat(); err != nil {
				return err
			}
			if len(args) == 0 {
				return r.listOperators(all.Registry())
			}
			return r.showOperator(all.Registry(), strings.TrimSuffix(args[0], ">"))
		},
	}
	r.registerFormat(c)
	return c
}

// operatorInfo is an operator as programs see it.
type operatorInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Page    string `json:"page,omitempty"` // Markdown; only where one operator is asked for
}

func (r *remote) listOperators(registry operators.Registry) error {
	var list []operatorInfo
	width := 0
	for _, name := range registry.Names() {
		list = append(list, operatorInfo{Name: name, Summary: registry[name].Summary})
		width = max(width, len(name)+len(">"))
	}
	err := r.show(list, func(p printer) {
		for _, o := range list {
			p.line("  %-*s  %s", width, o.Name+">", o.Summary)
		}
		p.line("")
	})
	r.hint("Use `zerodag operators <name>` to show parameters, an example and errors.")
	r.hint("Executables in operators/ of a project are operators too: see `zerodag docs plugins`.")
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
	page, ok := operators.Page(name)
	if !ok {
		return fmt.Errorf("operator %s> has no page in this program", name)
	}
	return r.show(operatorInfo{name, registry[name].Summary, page}, func(p printer) { p.WriteString(term.PlainPage(page)) })
}
