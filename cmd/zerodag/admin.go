package main

import (
	"context"

	"github.com/spf13/cobra"
)

// newAdmin looks after a deployment.
func newAdmin(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "admin",
		Short: "Look after a deployment on AWS",
		RunE:  func(c *cobra.Command, _ []string) error { return showUsage(c, s) },
	}
	c.AddCommand(newRedrive(s))
	return c
}

func newRedrive(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "redrive", Short: "Send messages that nobody could handle back to their queues",
		Long: `Send messages that nobody could handle back to their queues, now. The tick does so by
itself, ever more slowly: this is for when the cause is mended.`}
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		n, err := r.Redrive(ctx)
		if err != nil {
			return err
		}
		result := struct {
			Messages int `json:"messages"`
		}{n}
		return r.show(result, func(p printer) { p.line("Sent %d messages back.", n) })
	})
}
