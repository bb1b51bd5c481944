package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/schedule"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// newSchedules returns the command that lists schedules.
func newSchedules(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "schedules", Aliases: []string{"schedule"}, Short: "Show schedules"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		now := time.Now()
		list, err := r.AllSchedules(ctx, "")
		if err != nil {
			return err
		}
		var paused []client.Project
		if len(list) > 0 && !program.AsDigdag() {
			if paused, err = r.pausedProjects(ctx); err != nil {
				return err
			}
		}
		err = r.List(list, func(p cli.Printer) {
			p.Line("Schedules:")
			for _, one := range list {
				p.Block("  ", "id", one.ID, "project", one.Project.Name, "workflow", one.Workflow.Name, "disabled at", term.Away(now, one.DisabledAt),
					"next session time", cli.OffsetTime(one.NextScheduleTime), "next scheduled to run at", term.Away(now, &one.NextRunTime))
			}
			p.Line("%d entries.", len(list))
		}, scheduleTable(now, list, paused), "There are no schedules.")
		r.Hint("Use `zerodag workflows [project-name] [name]` to show workflow details.")
		return err
	})
}

// scheduleTable shows schedules; paused are the paused projects.
func scheduleTable(now time.Time, list []client.Schedule, paused []client.Project) *term.Table {
	t := term.NewTable(term.Column{Title: "SCHEDULE"}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "NEXT SESSION"}, term.Column{Title: "RUNS AT"},
		term.Column{Title: "RUNS", Spare: true}, term.Column{Title: "DISABLED AT", Spare: true}, term.Column{Title: "PROJECT PAUSED", Spare: true})
	for _, s := range list {
		runs, why := term.Ago(now, &s.NextRunTime), ""
		if i := slices.IndexFunc(paused, func(p client.Project) bool { return p.ID == s.Project.ID }); i >= 0 {
			runs, why = "", pausedBy(paused[i].Paused)
		}
		if s.DisabledAt != nil {
			runs = ""
		}
		session, at := term.OffsetText(s.NextScheduleTime), term.ShortTimeIn(s.NextScheduleTime.Location(), &s.NextRunTime)
		if (schedule.Time{Time: s.NextScheduleTime}).IsEnded() {
			session, at, runs = "never", "", ""
		}
		t.Add(string(s.ID), s.Project.Name, s.Workflow.Name, session, at, runs, term.ShortTimeIn(s.NextScheduleTime.Location(), s.DisabledAt), why)
	}
	return t
}

// newEnable and newDisable return the commands that enable and disable schedules.
func newEnable(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	return r.switchCommand("enable", "Enabled", (*client.Client).Enable)
}

func newDisable(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	return r.switchCommand("disable", "Disabled", (*client.Client).Disable)
}

func (r *remote) switchCommand(name, done string, do func(*client.Client, context.Context, client.ID) (client.Schedule, error)) *cobra.Command {
	c := &cobra.Command{
		Use:   name + " schedule-id | project-name [name]",
		Short: map[string]string{"enable": "Enable schedules", "disable": "Disable schedules"}[name],
		Example: "  zerodag " + name + " 17           # one schedule\n" +
			"  zerodag " + name + " myproj       # all schedules of a project\n" +
			"  zerodag " + name + " myproj mywf  # the schedule of a workflow",
	}
	return r.Command(c, 1, 2, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		ids, err := r.schedulesOf(ctx, args)
		if err != nil {
			return err
		}
		changed := []client.Schedule{}
		for _, id := range ids {
			one, err := do(r.Client, ctx, id)
			if err != nil {
				return err
			}
			changed = append(changed, one)
		}
		return r.Show(changed, func(p cli.Printer) {
			for _, id := range ids {
				p.Line("%s schedule id: %s", done, id)
			}
		})
	})
}

// schedulesOf returns the schedules that arguments name: by id, by project or by workflow.
func (r *remote) schedulesOf(ctx context.Context, args []string) ([]client.ID, error) {
	if len(args) == 1 {
		if id, err := cli.IDArgument("schedule-id", args[0]); err == nil {
			return []client.ID{id}, nil
		}
	}
	project, err := r.Project(ctx, args[0])
	if err != nil {
		return nil, err
	}
	if len(args) == 2 {
		one, err := r.WorkflowSchedule(ctx, project.ID, args[1])
		return []client.ID{one.ID}, err
	}
	list, err := r.AllSchedules(ctx, project.ID)
	ids := make([]client.ID, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	return ids, err
}

// oneSchedule returns the schedule named by an id, or by a project and a workflow.
func (r *remote) oneSchedule(ctx context.Context, args []string) (client.Schedule, error) {
	if len(args) == 1 {
		return r.Schedule(ctx, client.ID(args[0]))
	}
	project, err := r.Project(ctx, args[0])
	if err != nil {
		return client.Schedule{}, err
	}
	return r.WorkflowSchedule(ctx, project.ID, args[1])
}
