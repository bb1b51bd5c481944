package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

func (f *pageFlags) registerShort(c *cobra.Command, what string) {
	c.Flags().StringVarP(&f.last, "last-id", "i", "", what+" before this `ID`")
	c.Flags().IntVarP(&f.count, "page-size", "s", 0, "`NUMBER` of "+what+" (default: 100)")
}

// newSessions returns the command that lists sessions, or shows one.
func newSessions(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var page pageFlags
	var search searchFlags
	c := &cobra.Command{
		Use:     "sessions [session-id | project-name [name]]",
		Aliases: []string{"session"},
		Short:   "Show the sessions of all projects, one project or one workflow, or a single session",
		Example: `  zerodag sessions --tag daily --status error --from 2026-03-01
  zerodag sessions myproj --label team=sales --search orders`,
	}
	page.registerShort(c, "sessions")
	search.register(c)
	return r.Command(c, 0, 2, func(ctx context.Context, args []string) error {
		wanted, err := search.search()
		if err != nil {
			return err
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		if len(args) == 1 && !search.given() {
			if id, err := cli.IDArgument("session", args[0]); err == nil {
				one, err := r.Session(ctx, id)
				if err != nil {
					return err
				}
				status := sessionStatus(one)
				if r.Ours() && one.LastAttempt != nil {
					status = attemptview.OfIgnored(status, one.LastAttempt.IgnoredErrors)
				}
				return r.Show(one, func(p cli.Printer) { printSession(p, one, status) })
			}
		}
		var list []client.Session
		none := "There are no sessions. `zerodag start` starts one."
		if search.given() {
			none = "No matching sessions."
			list, err = r.searchSessions(ctx, args, wanted, page.page())
		} else {
			list, err = r.listSessions(ctx, args, page.page())
		}
		if err != nil {
			return err
		}
		if r.Ours() {
			slices.Reverse(list)
		}
		return r.List(list, func(p cli.Printer) {
			p.Line("Sessions:")
			for _, one := range list {
				printSession(p, one, sessionStatus(one))
			}
			r.hintStart(len(list))
		}, sessionTable(list), none)
	})
}

func sessionTable(list []client.Session) *term.Table {
	t := term.NewTable(term.Column{Title: "SESSION"}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "SESSION TIME"},
		term.Column{Title: "STATUS", Ink: attemptview.StatusInk}, term.Column{Title: "LAST ATTEMPT"}, term.Column{Title: "STARTED", Spare: true}, term.Column{Title: "LABELS", Spare: true},
		term.Column{Title: "RETRY NAME", Wide: true}, term.Column{Title: "UUID", Wide: true}, term.Column{Title: "PARAMS", Wide: true})
	for _, s := range list {
		var a client.Last
		started, params := "", ""
		if s.LastAttempt != nil {
			a = *s.LastAttempt
			started, params = term.ShortTimeIn(s.SessionTime.Location(), &a.CreatedAt), cli.Shown(a.Params)
		}
		t.Add(string(s.ID), s.Project.Name, s.Workflow.Name, term.OffsetText(s.SessionTime), attemptview.OfIgnored(sessionStatus(s), a.IgnoredErrors), string(a.ID), started, labelsText(a.Labels), cli.Shown(a.RetryAttemptName), s.SessionUUID, params)
	}
	return t
}

// sessionStatus returns the status of a session's last attempt.
func sessionStatus(s client.Session) string {
	switch a := s.LastAttempt; {
	case a == nil:
		return "pending"
	case a.Success:
		return "success"
	case a.Done && a.CancelRequested && !program.AsDigdag():
		return "killed"
	case a.Done:
		return "error"
	case a.StartsAt != nil && a.StartsAt.After(time.Now()):
		return startsText(*a.StartsAt)
	}
	return "running"
}

// ofSessions reads the optional project and workflow in the arguments.
func (r *remote) ofSessions(ctx context.Context, args []string) (project client.ID, workflow string, err error) {
	if len(args) > 0 {
		p, err := r.Project(ctx, args[0])
		if err != nil {
			return "", "", err
		}
		project = p.ID
	}
	if len(args) > 1 {
		workflow = args[1]
	}
	return project, workflow, nil
}

// listSessions returns sessions, oldest first.
func (r *remote) listSessions(ctx context.Context, args []string, page client.Page) ([]client.Session, error) {
	project, workflow, err := r.ofSessions(ctx, args)
	if err != nil {
		return nil, err
	}
	list, err := r.Sessions(ctx, project, workflow, page)
	if err == nil && len(list) == 0 && workflow != "" && r.Ours() {
		_, err = r.Workflow(ctx, project, workflow, "") // a workflow that does not exist also has no sessions
	}
	slices.Reverse(list)
	return list, err
}

func (r *remote) hintStart(n int) {
	if n == 0 {
		r.Hint("Use `zerodag start` to start a session.")
	}
}

func printSession(p cli.Printer, s client.Session, status string) {
	var a client.Last
	created, params := "", ""
	if s.LastAttempt != nil {
		a = *s.LastAttempt
		created, params = cli.Shown(a.CreatedAt), cli.Shown(a.Params)
	}
	p.Block("  ", "session id", s.ID, "attempt id", a.ID, "uuid", s.SessionUUID, "project", s.Project.Name, "workflow", s.Workflow.Name,
		"session time", cli.OffsetTime(s.SessionTime), "retry attempt name", a.RetryAttemptName, "params", params,
		"created at", created, "kill requested", a.CancelRequested, "status", status)
	printLabels(p, a.Labels)
}
