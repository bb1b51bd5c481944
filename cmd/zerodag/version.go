package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// newVersion prints the versions of this program and of the server.
func newVersion(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "version", Short: "Show the versions of the client and of the server"}
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.begin(); err != nil {
			return err
		}
		fmt.Fprintf(r.notes(), "Client version: %s\n", version)
		if err := r.connect(); err != nil {
			return err
		}
		server, err := r.Client.Version(ctx)
		if err != nil {
			fmt.Fprintln(r.notes(), "An error happened during getting Server version.")
			return err
		}
		result := struct {
			Client string `json:"client"`
			Server string `json:"server"`
		}{version, server}
		return r.show(result, func(p printer) { p.line("Server version: %s", server) })
	})
}
