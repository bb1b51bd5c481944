package main

import (
	"github.com/spf13/cobra"

	"zerodag/internal/projectfolder"
)

// newInit makes a new project from a sample.
func newInit(s streams) *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:     "init DIR",
		Aliases: []string{"new"},
		Short:   "Create a new project",
		Args:    upTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongCount(cmd, s, args, 1)
			}
			banner(s.err)
			return projectfolder.Create(s.out, args[0], kind)
		},
	}
	c.Flags().StringVarP(&kind, "type", "t", "echo", "sample `TYPE`: "+projectfolder.Kinds)
	return c
}
