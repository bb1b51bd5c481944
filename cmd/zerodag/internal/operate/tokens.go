package operate

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// NewTokens returns the commands that manage the bearer tokens of a server.
func NewTokens(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "tokens",
		Short: "Create, list and revoke bearer tokens",
		RunE:  func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) },
	}
	c.AddCommand(newTokenCreate(s), newTokenList(s), newTokenRevoke(s))
	return c
}

func registerSite(c *cobra.Command, site *string) {
	c.Flags().StringVar(site, "site", "", "`NUMBER` of the site (default: your own)")
}

func newTokenCreate(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	name, role, site := "", "", ""
	c := &cobra.Command{Use: "create --name NAME --role ROLE", Short: "Create a token and show it once"}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the token (required)")
	c.Flags().StringVar(&role, "role", "", "`ROLE`: viewer, operator, admin, or owner of all sites (required)")
	registerSite(c, &site)
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if name == "" || role == "" {
			return program.UsageError(errors.New("--name and --role are required"))
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		t, err := r.CreateToken(ctx, name, role, client.ID(site))
		if err != nil {
			return err
		}
		err = r.Show(t, func(p cli.Printer) { printToken(p, t) })
		r.Hint("The token is shown only now. Use it with --token, or in the environment variable ZERODAG_TOKEN.")
		return err
	})
}

func newTokenList(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	site := ""
	c := &cobra.Command{Use: "list", Short: "List tokens without their text"}
	registerSite(c, &site)
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Tokens(ctx, client.ID(site))
		if err != nil {
			return err
		}
		all := term.NewTable(term.Column{Title: "TOKEN"}, term.Column{Title: "NAME", Name: true}, term.Column{Title: "ROLE"}, term.Column{Title: "SITE"}, term.Column{Title: "CREATED"})
		for _, t := range list {
			all.Add(cli.Shown(t.ID), t.Name, cli.Shown(t.Role), cli.Shown(t.Site), term.ShortTime(&t.CreatedAt))
		}
		return r.List(list, func(p cli.Printer) {
			p.Line("Tokens:")
			for _, t := range list {
				printToken(p, t)
			}
			p.Line("%d entries.", len(list))
		}, all, "There are no tokens.")
	})
}

func printToken(p cli.Printer, t client.Token) {
	pairs := []any{"id", t.ID, "name", t.Name, "role", t.Role, "site", t.Site, "created at", t.CreatedAt}
	if t.Token != "" {
		pairs = append(pairs, "token", t.Token)
	}
	p.Block("  ", pairs...)
}

func newTokenRevoke(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	site := ""
	c := &cobra.Command{Use: "revoke id", Short: "Revoke a token"}
	registerSite(c, &site)
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := cli.IDArgument("token id", args[0])
		if err != nil {
			return err
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		t, err := r.RevokeToken(ctx, id, client.ID(site))
		if err != nil {
			return err
		}
		return r.Show(t, func(p cli.Printer) { p.Line("Revoked token id: %s", id) })
	})
}
