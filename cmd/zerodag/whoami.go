package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
)

// newWhoami shows who the server takes us for, and how we have shown that.
func newWhoami(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "whoami", Short: "Show who you are for the server, and how it knows"}
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		who, err := r.Caller(ctx)
		if err != nil {
			return err
		}
		return r.show(who, func(p printer) {
			p.line("%s", cmp.Or(who.Name, "everybody"))
			p.line("  by: %s", r.Access)
			p.line("  role: %s", who.Role)
			p.line("  site: %d", who.Site)
		})
	})
}
