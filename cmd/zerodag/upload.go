package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
)

// newUpload returns the command that uploads an archive as a new revision.
func newUpload(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	revision := ""
	c := &cobra.Command{Use: "upload path.tar.gz project", Short: "Upload an archive as a new revision of a project"}
	c.Flags().StringVarP(&revision, "revision", "r", "", "name of the `REVISION` (default: a random one)")
	return r.Command(c, 2, 2, func(ctx context.Context, args []string) error {
		switch {
		case args[1] == "":
			return program.UsageError(errors.New("project name cannot be empty"))
		case revision == "" && c.Flags().Changed("revision"):
			return program.UsageError(errors.New("revision cannot be empty"))
		case revision == "":
			revision = host.NewUUID()
		}
		archive, err := os.Open(args[0])
		if err != nil {
			return fmt.Errorf("open archive: %w", err)
		}
		defer archive.Close()
		if err := r.Open(ctx); err != nil {
			return err
		}
		project, err := r.uploadGiven(ctx, client.Push{Project: args[1], Revision: revision}, archive)
		if err != nil {
			return err
		}
		return r.showUploaded(project, nil)
	})
}
