package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// newTokens keeps the bearer tokens of a server.
func newTokens(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "tokens",
		Short: "Create, list and revoke bearer tokens",
		RunE:  func(c *cobra.Command, _ []string) error { return showUsage(c, s) },
	}
	c.AddCommand(newTokenCreate(s), newTokenList(s), newTokenRevoke(s))
	return c
}

func registerSite(c *cobra.Command, site *string) {
	c.Flags().StringVar(site, "site", "", "`NUMBER` of the site (default: one's own)")
}

func newTokenCreate(s streams) *cobra.Command {
	r := &remote{streams: s}
	name, role, site := "", "", ""
	c := &cobra.Command{Use: "create --name NAME --role ROLE", Short: "Create a token and show it, once"}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the token (required)")
	c.Flags().StringVar(&role, "role", "", "`ROLE`: viewer, operator, admin, or owner of all sites (required)")
	registerSite(c, &site)
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if name == "" || role == "" {
			return program.UsageError(errors.New("--name and --role are required"))
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		t, err := r.CreateToken(ctx, name, role, client.ID(site))
		if err != nil {
			return err
		}
		err = r.show(t, func(p printer) { p.token(t) })
		r.hint("The token is shown only now. Use it with --token, or in the environment variable ZERODAG_TOKEN.")
		return err
	})
}

func newTokenList(s streams) *cobra.Command {
	r := &remote{streams: s}
	site := ""
	c := &cobra.Command{Use: "list", Short: "Show tokens, without their text"}
	registerSite(c, &site)
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.Tokens(ctx, client.ID(site))
		if err != nil {
			return err
		}
		all := term.NewTable(term.Column{Title: "TOKEN"}, term.Column{Title: "NAME", Name: true}, term.Column{Title: "ROLE"}, term.Column{Title: "SITE"}, term.Column{Title: "CREATED"})
		for _, t := range list {
			all.Add(shown(t.ID), t.Name, shown(t.Role), shown(t.Site), term.ShortTime(&t.CreatedAt))
		}
		return r.list(list, func(p printer) {
			p.line("Tokens:")
			for _, t := range list {
				p.token(t)
			}
			p.line("%d entries.", len(list))
		}, all, "There are no tokens.")
	})
}

func (p printer) token(t client.Token) {
	pairs := []any{"id", t.ID, "name", t.Name, "role", t.Role, "site", t.Site, "created at", t.CreatedAt}
	if t.Token != "" {
		pairs = append(pairs, "token", t.Token)
	}
	p.block("  ", pairs...)
}

func newTokenRevoke(s streams) *cobra.Command {
	r := &remote{streams: s}
	site := ""
	c := &cobra.Command{Use: "revoke id", Short: "Revoke a token"}
	registerSite(c, &site)
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := idArgument("token id", args[0])
		if err != nil {
			return err
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		t, err := r.RevokeToken(ctx, id, client.ID(site))
		if err != nil {
			return err
		}
		return r.show(t, func(p printer) { p.line("Revoked token id: %s", id) })
	})
}
