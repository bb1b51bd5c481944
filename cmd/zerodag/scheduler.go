package main

import (
	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/projectfolder"
	"zerodag/internal/scratch"
	"zerodag/internal/serverconfig"
	"zerodag/internal/serverrun"
)

// newScheduler returns the command that runs the schedules of a folder.
func newScheduler(s cli.Streams) *cobra.Command {
	c := &serverCommand{Streams: s, CommandLine: serverconfig.CommandLine{Version: version()}}
	folder := ""
	cmd := &cobra.Command{Use: "scheduler [options...]", Aliases: []string{"sched"}, Short: "Run the schedules of a project folder",
		Long: `Run the schedules of a project folder: a server with a single project, "default", whose
tasks run in the folder itself. The folder is read again every 5 seconds. Data is kept in
memory unless --database or the configuration key database.type selects a different store.`,
		Args: cli.UpTo(0)}
	cmd.Flags().StringVar(&folder, "project", "", "the project's `DIR` (default: the current one)")
	c.Register(cmd.Flags(), "in memory", "with the data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := projectfolder.Open(folder)
		if err != nil {
			return err
		}
		if err := p.OwnState(); err != nil {
			return err
		}
		c.local, c.Project = serverrun.NewProject(p), p.Root()
		defer scratch.Leave(p.TempFolder())
		return c.run(cmd.Context(), cmd.Flags())
	}
	return cmd
}
