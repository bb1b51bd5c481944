package main

import (
	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/projectfolder"
)

// newInit returns the command that creates a new project from a sample.
func newInit(s cli.Streams) *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:     "init DIR",
		Aliases: []string{"new"},
		Short:   "Create a new project",
		Args:    cli.UpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WrongCount(cmd, s, args, 1)
			}
			s.Banner()
			return projectfolder.Create(s.Out, args[0], kind)
		},
	}
	c.Flags().StringVarP(&kind, "type", "t", "echo", "sample `TYPE`: "+projectfolder.Kinds)
	return c
}
