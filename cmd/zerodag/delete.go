package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
)

// newDelete returns the command that deletes a project.
func newDelete(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var force bool
	c := &cobra.Command{Use: "delete project", Short: "Delete a project"}
	c.Flags().BoolVar(&force, "force", false, "do not ask for confirmation")
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		project, err := r.Project(ctx, args[0])
		if err != nil {
			return err
		}
		err = r.Show(project, func(p cli.Printer) {
			p.Line("Project:")
			p.Block("  ", "id", project.ID, "name", project.Name, "latest revision", project.Revision,
				"created at", project.CreatedAt, "last updated at", project.UpdatedAt)
			p.Truncate(p.Len() - 1) // no empty line follows here
		})
		if err != nil {
			return err
		}
		if !force {
			fmt.Fprint(r.Err, "Are you sure you want to delete this project? [y/N]: ")
			answer, _ := bufio.NewReader(r.In).ReadString('\n') // no answer means no
			if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
				return errors.New("canceled.")
			}
		}
		if _, err := r.Client.Delete(ctx, project.ID); err != nil {
			return err
		}
		r.Hint("Project '%s' is deleted.", args[0])
		return nil
	})
}
