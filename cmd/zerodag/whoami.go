package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/term"
)

// newWhoami returns the command that shows who the user is on the server, and how they were authenticated.
func newWhoami(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "whoami", Short: "Show your identity and role on the server, and how you authenticated"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		who, err := r.Caller(ctx)
		if err != nil {
			return err
		}
		return r.Show(who, func(p cli.Printer) {
			p.Line("%s", cmp.Or(who.Name, "everybody"))
			p.Line("  by: %s", r.Access)
			p.Line("  role: %s", who.Role)
			p.Line("  site: %d", who.Site)
			if len(who.Projects) > 0 {
				p.Line("  projects: %s", strings.Join(who.Projects, ", "))
			}
			if who.ExpiresAt != nil {
				p.Line("  expires: %s", term.Time(*who.ExpiresAt))
			}
		})
	})
}
