package main

import (
	"context"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
)

// newProjectPause returns the command that pauses a project: none of its attempts start.
func newProjectPause(s cli.Streams) *cobra.Command {
	r, reason := &remote{cli.Remote{Streams: s}}, ""
	c := &cobra.Command{Use: "pause project", Short: "Pause a project: no attempt of it starts, existing ones continue"}
	c.Flags().StringVar(&reason, "reason", "", "`REASON` for the pause, shown to users")
	pause := func(ctx context.Context, id client.ID) (client.Project, error) {
		return r.Client.PauseProject(ctx, id, reason)
	}
	return r.changeStarts(c, pause, "Due sessions of schedules and backfills are held. Existing attempts continue. `zerodag project unpause %s` lets attempts start again.",
		"It was already paused, and nothing has changed. `zerodag project unpause %s` lets attempts start again.")
}

// newProjectUnpause returns the command that resumes a project.
func newProjectUnpause(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "unpause project", Short: "Resume a paused project: attempts start again"}
	unpause := func(ctx context.Context, id client.ID) (client.Project, error) {
		return r.Client.UnpauseProject(ctx, id)
	}
	return r.changeStarts(c, unpause, "Held sessions start within a minute or two: `zerodag status %s` shows it.",
		"It was not paused, and nothing has changed. `zerodag status %s` shows what runs.")
}

// changeStarts makes c a command that changes whether attempts of the project in its argument start. It shows one of
// two hints with the project's name, the second if nothing changed.
func (r *remote) changeStarts(c *cobra.Command, change func(context.Context, client.ID) (client.Project, error), changed, same string) *cobra.Command {
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		project, err := r.Project(ctx, args[0])
		if client.IsMissing(err) {
			return r.noProject(ctx, args[0])
		}
		if err != nil {
			return err
		}
		before := project.Paused
		if project, err = change(ctx, project.ID); err != nil {
			return err
		}
		text := "Attempts of project " + project.Name + " start again"
		if project.Paused != nil {
			text = "Project " + project.Name + " is " + pausedText(project.Paused)
		}
		if err := r.Show(project, func(p cli.Printer) { p.Line("%s", text) }); err != nil {
			return err
		}
		if (before == nil) == (project.Paused == nil) {
			r.Hint(same, project.Name)
		} else {
			r.Hint(changed, project.Name)
		}
		return nil
	})
}
