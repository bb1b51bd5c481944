package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// NewTokens returns the commands that manage a server's bearer tokens.
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
	asked, site, expires := client.TokenRequest{}, "", ""
	c := &cobra.Command{Use: "create --name NAME --role ROLE", Short: "Create a token and show it once"}
	c.Flags().StringVar(&asked.Name, "name", "", "`NAME` of the token (required)")
	c.Flags().StringVar(&asked.Role, "role", "", "`ROLE`: metrics (of all sites, nothing else), viewer, operator, developer, admin, or owner of all sites (required)")
	c.Flags().StringVar(&expires, "expires", "", "`TIME` from which the token is rejected: after 90d or 12h, or from a date (2027-03-31, midnight UTC) or instant on (default: never)")
	c.Flags().StringArrayVar(&asked.Projects, "project", nil, "`NAME` of the only project that the token may use; repeat it for several (default: all projects of the site)")
	registerSite(c, &site)
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if asked.Name == "" || asked.Role == "" {
			return program.UsageError(errors.New("--name and --role are required"))
		}
		var err error
		if asked.ExpiresAt, err = expiryOf(expires, time.Now()); err != nil {
			return program.UsageError(err)
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		if site != "" {
			asked.Site = new(client.ID(site))
		}
		t, err := r.CreateToken(ctx, asked)
		if err != nil {
			return err
		}
		for _, w := range t.Warnings {
			r.Hint("Warning: " + w + ".")
		}
		err = r.Show(t, func(p cli.Printer) { printToken(p, t) })
		r.Hint("The token is shown only now. Use it with --token, or in the environment variable ZERODAG_TOKEN.")
		return err
	})
}

// expiryOf reads when a token expires: after a duration, or at a time; nil for never.
func expiryOf(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if d, ok := param.ParseDuration(text); ok && d > 0 {
		return new(now.UTC().Add(d).Truncate(time.Second)), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return new(t.UTC()), nil
		}
	}
	return nil, fmt.Errorf("--expires %q is not a duration, a date or an instant: write 90d, 2027-03-31 or 2027-03-31T12:00:00Z", text)
}

// left shows how much time a token has left.
func left(now time.Time, t client.Token) string {
	switch {
	case t.ExpiresAt == nil:
		return "no end"
	case !now.Before(*t.ExpiresAt):
		return "expired"
	}
	d := t.ExpiresAt.Sub(now)
	if days := d / (24 * time.Hour); days >= 2 {
		return fmt.Sprintf("%d days", days)
	}
	return term.Duration(d)
}

// scope shows which projects a token may use.
func scope(t client.Token) string { return cmp.Or(strings.Join(t.Projects, ", "), "all") }

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
		all := term.NewTable(term.Column{Title: "TOKEN"}, term.Column{Title: "NAME", Name: true}, term.Column{Title: "ROLE"}, term.Column{Title: "SITE"}, term.Column{Title: "PROJECTS"}, term.Column{Title: "LEFT"}, term.Column{Title: "LAST USED"}, term.Column{Title: "CREATED"})
		now := time.Now()
		for _, t := range list {
			all.Add(cli.Shown(t.ID), t.Name, cli.Shown(t.Role), cli.Shown(t.Site), scope(t), left(now, t), lastUse(now, t), term.ShortTime(&t.CreatedAt))
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

// lastUse shows about when a token was last used.
func lastUse(now time.Time, t client.Token) string {
	if t.LastUsed == nil {
		return "never"
	}
	return term.Ago(now, t.LastUsed)
}

func printToken(p cli.Printer, t client.Token) {
	pairs := []any{"id", t.ID, "name", t.Name, "role", t.Role, "site", t.Site, "created at", t.CreatedAt}
	if len(t.Projects) > 0 {
		pairs = append(pairs, "projects", scope(t))
	}
	if t.ExpiresAt != nil {
		pairs = append(pairs, "expires at", *t.ExpiresAt)
	}
	if t.LastUsed != nil {
		pairs = append(pairs, "last used at", *t.LastUsed)
	}
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
