package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/param"
	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// newAttempts returns the command that lists attempts.
func newAttempts(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var page pageFlags
	c := &cobra.Command{Use: "attempts [session-id]", Short: "Show attempts of all sessions or of one session"}
	page.registerShort(c, "attempts")
	return r.Command(c, 0, 1, func(ctx context.Context, args []string) error {
		var session client.ID
		if len(args) == 1 {
			var err error
			if session, err = cli.IDArgument("session-id", args[0]); err != nil {
				return err
			}
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Attempts(ctx, session, page.page())
		if err != nil {
			return err
		}
		if !r.Ours() { // Digdag shows the newest last
			slices.Reverse(list)
		}
		return r.List(list, func(p cli.Printer) {
			p.Line("Session attempts:")
			for _, a := range list {
				printAttempt(p, a, a.Status)
			}
			r.hintStart(len(list))
		}, attemptTable(time.Now(), list), "There are no attempts. `zerodag start` starts one.")
	})
}

func attemptTable(now time.Time, list []client.Attempt) *term.Table {
	t := term.NewTable(term.Column{Title: "ATTEMPT"}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "SESSION TIME"},
		term.Column{Title: "STATUS", Ink: attemptview.StatusInk}, term.Column{Title: "STARTED", Spare: true}, term.Column{Title: "TOOK"}, term.Column{Title: "LABELS", Spare: true},
		term.Column{Title: "SESSION", Wide: true}, term.Column{Title: "RETRY NAME", Wide: true}, term.Column{Title: "PARAMS", Wide: true})
	for _, a := range list {
		t.Add(string(a.ID), a.Project.Name, a.Workflow.Name, term.OffsetText(a.SessionTime), attemptStatus(a, now), term.ShortTimeIn(a.SessionTime.Location(), a.BeginsAt()), term.Took(now, a.BeginsAt(), a.FinishedAt), labelsText(a.Labels),
			string(a.SessionID), cli.Shown(a.RetryAttemptName), cli.Shown(a.Params))
	}
	return t
}

// attemptStatus returns the status of an attempt, or when it begins if it waits for its start time.
func attemptStatus(a client.Attempt, now time.Time) string {
	if !a.Done && a.BeginsAt().After(now) {
		return startsText(*a.StartsAt)
	}
	return attemptview.OfIgnored(a.Status, a.IgnoredErrors)
}

func startsText(t time.Time) string { return "starts at " + term.ShortTime(&t) }

// openAttempt reads the id of an attempt, before any request to the server.
func (r *remote) openAttempt(ctx context.Context, argument string) (client.ID, error) {
	id, err := cli.IDArgument("attempt-id", argument)
	if err != nil {
		return "", err
	}
	return id, r.Open(ctx)
}

// attemptOf reads the attempt that an argument names.
func (r *remote) attemptOf(ctx context.Context, argument string) (client.Attempt, error) {
	id, err := r.openAttempt(ctx, argument)
	if err != nil {
		return client.Attempt{}, err
	}
	return r.Attempt(ctx, id)
}

// newAttempt returns the command that shows one attempt.
func newAttempt(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "attempt attempt-id", Short: "Show an attempt"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		a, err := r.attemptOf(ctx, args[0])
		if err != nil {
			return err
		}
		failed, ignored, err := r.problemsOf(ctx, a)
		if err != nil {
			return err
		}
		var waiting []string
		if r.Ours() && !a.Done {
			if waiting, err = r.waiting(ctx, a); err != nil {
				return err
			}
		}
		status := a.Status
		if r.Ours() {
			status = attemptview.OfIgnored(status, a.IgnoredErrors)
		}
		return r.Show(a, func(p cli.Printer) {
			printAttempt(p, a, status)
			printLabels(p, a.Labels)
			if !a.Done && a.BeginsAt().After(time.Now()) {
				p.Line("  %s", startsText(*a.StartsAt))
			}
			if a.Paused != nil {
				p.Line("  %s", pausedText(a.Paused))
			}
			if r.Ours() && a.Imported {
				p.Line("  %s", importedText)
			}
			for _, text := range waiting {
				p.Line("  %s", text)
			}
			if r.Ours() && a.Done {
				_, ink := term.Look(r.Out)
				p.WriteString(attemptview.Outcome(a, failed, ink) + attemptview.IgnoredText(a.ID, ignored, ink))
			}
		})
	})
}

// importedText explains why an attempt has no tasks.
const importedText = "imported: it ran on another server, and its tasks and logs were not copied"

// problemsOf reads which tasks of an attempt failed, and whose failures were ignored. It sends no request to a Digdag
// server.
func (r *remote) problemsOf(ctx context.Context, a client.Attempt) (failed []attemptview.Failure, ignored []client.Task, err error) {
	if r.Ours() && a.Done && !a.Success {
		if failed, err = r.AttemptViews().Failures(ctx, a, taskview.LastLines); err != nil {
			return nil, nil, err
		}
	}
	if r.Ours() && a.IgnoredErrors { // otherwise there are none, and the tasks need not be read
		ignored, err = r.AttemptViews().Ignored(ctx, a)
	}
	return failed, ignored, err
}

// pausedText returns who paused an attempt or a project, when and why; "" if it is not paused.
func pausedText(p *client.Paused) string {
	if text := pausedBy(p); text != "" {
		return "paused " + text
	}
	return ""
}

// pausedBy is pausedText without its first word.
func pausedBy(p *client.Paused) string {
	if p == nil {
		return ""
	}
	text := "by " + cmp.Or(p.By, "an unknown user") + " at " + term.ShortTime(&p.At)
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// waiting returns what an attempt and its ready tasks wait for.
func (r *remote) waiting(ctx context.Context, a client.Attempt) ([]string, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	var list []string
	for _, t := range tasks {
		switch w := t.Waiting; {
		case w == nil:
		case w.Reason == "turn":
			list = append(list, fmt.Sprintf("the attempt has been waiting for its turn since %s: the workflow's `concurrency` limit is reached", term.ShortTime(w.Since)))
		case w.Reason == "slots":
			list = append(list, fmt.Sprintf("%s has been waiting since %s for %s of pool %s", t.FullName, term.ShortTime(w.Since), term.Counted(w.Slots, "slot"), w.Pool))
		case w.Reason == "place":
			list = append(list, fmt.Sprintf("%s has been waiting since %s: the file's `concurrency` limit for tasks is reached", t.FullName, term.ShortTime(w.Since)))
		}
	}
	return list, err
}

// printLabels prints labels on a separate line, or nothing if there are none.
func printLabels(p cli.Printer, labels *param.Map) {
	if labels.Len() > 0 {
		p.Line("  labels: %s", labelsText(labels))
	}
}

func labelsText(labels *param.Map) string {
	var list []string
	for name, v := range labels.All() {
		list = append(list, name+"="+cli.Shown(v))
	}
	return strings.Join(list, ", ")
}

func printAttempt(p cli.Printer, a client.Attempt, status string) {
	p.Block("  ", "session id", a.SessionID, "attempt id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
		"session time", cli.OffsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params,
		"created at", a.CreatedAt, "finished at", a.FinishedAt, "kill requested", a.CancelRequested, "status", status)
}

// newKill returns the command that ends an attempt.
func newKill(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "kill attempt-id", Short: "Kill a running attempt; a second kill also ends its _cancel and _finally tasks"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Kill(ctx, id)
		if err != nil {
			return err
		}
		return r.Show(a, func(p cli.Printer) { p.Line("Kill requested for session attempt %s", id) })
	})
}
