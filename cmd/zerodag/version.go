package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
)

// newVersion prints the versions of this program and of the server.
func newVersion(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "version", Short: "Show the versions of the client and of the server"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Begin(); err != nil {
			return err
		}
		fmt.Fprintf(r.Notes(), "Client version: %s\n", r.ProgramVersion)
		if err := r.Dial(); err != nil {
			return err
		}
		server, err := r.Client.Version(ctx)
		if err != nil {
			fmt.Fprintln(r.Notes(), "An error happened during getting Server version.")
			return err
		}
		result := struct {
			Client string `json:"client"`
			Server string `json:"server"`
		}{r.ProgramVersion, server}
		return r.Show(result, func(p cli.Printer) { p.Line("Server version: %s", server) })
	})
}
