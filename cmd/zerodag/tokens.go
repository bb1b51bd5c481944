package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
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

func newTokenCreate(s streams) *cobra.Command {
	r := &remote{streams: s}
	name, role, site := "", "", int64(0)
	c := &cobra.Command{Use: "create --name NAME --role ROLE", Short: "Create a token and show it, once"}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the token (required)")
	c.Flags().StringVar(&role, "role", "", "`ROLE`: admin, operator or viewer (required)")
	c.Flags().Int64Var(&site, "site", 0, "`NUMBER` of the site that it is for")
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if name == "" || role == "" {
			return usageError{errors.New("--name and --role are required")}
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		t, err := r.CreateToken(ctx, name, role, site)
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
	c := &cobra.Command{Use: "list", Short: "Show tokens, without their text"}
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.Tokens(ctx)
		if err != nil {
			return err
		}
		return r.show(list, func(p printer) {
			p.line("Tokens:")
			for _, t := range list {
				p.token(t)
			}
			p.line("%d entries.", len(list))
		})
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
	c := &cobra.Command{Use: "revoke id", Short: "Revoke a token"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := idArgument("token id", args[0])
		if err != nil {
			return err
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		if err := r.RevokeToken(ctx, id); err != nil {
			return err
		}
		result := struct {
			ID client.ID `json:"id"`
		}{id}
		return r.show(result, func(p printer) { p.line("Revoked token id: %s", id) })
	})
}
