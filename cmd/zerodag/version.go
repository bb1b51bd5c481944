package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/connection"
	"zerodag/internal/program"
)

// versions are the versions of this program and of the server; nil if no server answers.
type versions struct {
	Client string  `json:"client"`
	Server *string `json:"server"`
}

// newVersion returns the command that prints the versions of this program and of the server. Without a server, it
// prints only the program's version, which is a failure only in Digdag.
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
		if err != nil && !program.AsDigdag() {
			r.Hint("The version of the server is unknown: %v", connection.Explain(ctx, r.Client, err, ""))
			return r.Show(versions{Client: r.ProgramVersion}, func(cli.Printer) {})
		}
		if err != nil {
			fmt.Fprintln(r.Notes(), "An error happened during getting Server version.")
			return err
		}
		return r.Show(versions{r.ProgramVersion, &server}, func(p cli.Printer) { p.Line("Server version: %s", server) })
	})
}
