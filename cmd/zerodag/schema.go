package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/docs"
)

// newSchema returns the command that prints the JSON Schema of workflows, for editors.
func newSchema(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of workflows, for editors",
		Example: "  zerodag schema > ~/.config/dig.schema.json    # then set up your editor: zerodag docs editors",
		Args:    cli.UpTo(0),
		RunE: func(*cobra.Command, []string) error {
			if _, err := s.Out.Write(docs.Schema); err != nil {
				return fmt.Errorf("write schema: %w", err)
			}
			return nil
		},
	}
}
