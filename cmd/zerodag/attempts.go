package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/engine/param"
	"zerodag/internal/client"
)

// newAttempts lists attempts.
func newAttempts(s streams) *cobra.Command {
	r := &remote{streams: s}
	var page pageFlags
	c := &cobra.Command{Use: "attempts [session-id]", Short: "Show attempts of all sessions or of one"}
	page.registerShort(c, "attempts")
	return r.command(c, 0, 1, func(ctx context.Context, args []string) error {
		var session client.ID
		if len(args) == 1 {
			var err error
			if session, err = idArgument("session-id", args[0]); err != nil {
				return err
			}
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.Attempts(ctx, session, page.page())
		if err != nil {
			return err
		}
		if !r.ours() { // the original shows the newest at the end
			slices.Reverse(list)
		}
		return r.list(list, func(p printer) {
			p.line("Session attempts:")
			for _, a := range list {
				p.attempt(a, a.Status)
			}
			r.hintStart(len(list))
		}, attemptTable(time.Now(), list), "There are no attempts. `zerodag start` starts one.")
	})
}

func attemptTable(now time.Time, list []client.Attempt) *table {
	t := newTable(column{title: "ATTEMPT"}, column{title: "PROJECT", name: true}, column{title: "WORKFLOW", name: true}, column{title: "SESSION TIME"},
		column{title: "STATUS", ink: statusInk}, column{title: "STARTED", spare: true}, column{title: "TOOK"}, column{title: "LABELS", spare: true},
		column{title: "SESSION", wide: true}, column{title: "RETRY NAME", wide: true}, column{title: "PARAMS", wide: true})
	for _, a := range list {
		t.add(string(a.ID), a.Project.Name, a.Workflow.Name, offsetText(a.SessionTime), attemptStatus(a, now), shortTimeIn(a.SessionTime.Location(), a.BeginsAt()), took(now, a.BeginsAt(), a.FinishedAt), labelsText(a.Labels),
			string(a.SessionID), shown(a.RetryAttemptName), shown(a.Params))
	}
	return t
}

// attemptStatus is the status of an attempt, and of one that waits for its time when it begins.
func attemptStatus(a client.Attempt, now time.Time) string {
	if !a.Done && a.BeginsAt().After(now) {
		return startsText(*a.StartsAt)
	}
	return ofIgnored(a.Status, a.IgnoredErrors)
}

// successIgnored is the status of what is a success although tasks failed.
const successIgnored = "success, errors ignored"

// ofIgnored is a status as people see it. Digdag has none for what is a success although tasks failed.
func ofIgnored(status string, ignored bool) string {
	if ignored {
		return successIgnored
	}
	return status
}

func startsText(t time.Time) string { return "starts at " + shortTime(&t) }

// openAttempt reads the id of an attempt, before the server is asked anything.
func (r *remote) openAttempt(ctx context.Context, argument string) (client.ID, error) {
	id, err := idArgument("attempt-id", argument)
	if err != nil {
		return "", err
	}
	return id, r.open(ctx)
}

// attemptOf reads the attempt that an argument names.
func (r *remote) attemptOf(ctx context.Context, argument string) (client.Attempt, error) {
	id, err := r.openAttempt(ctx, argument)
	if err != nil {
		return client.Attempt{}, err
	}
	return r.Attempt(ctx, id)
}

// newAttempt shows one attempt.
func newAttempt(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "attempt attempt-id", Short: "Show an attempt"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		a, err := r.attemptOf(ctx, args[0])
		if err != nil {
			return err
		}
		var failed []failure
		if r.ours() && a.Done && !a.Success {
			if failed, err = r.failures(ctx, a, lastLines); err != nil {
				return err
			}
		}
		var ignored []client.Task
		if r.ours() && a.IgnoredErrors { // else there are none, and the tasks need not be read
			if ignored, err = r.ignoredErrors(ctx, a); err != nil {
				return err
			}
		}
		var waiting []string
		if r.ours() && !a.Done {
			if waiting, err = r.waiting(ctx, a); err != nil {
				return err
			}
		}
		status := a.Status
		if r.ours() {
			status = ofIgnored(status, a.IgnoredErrors)
		}
		return r.show(a, func(p printer) {
			p.attempt(a, status)
			p.labels(a.Labels)
			if !a.Done && a.BeginsAt().After(time.Now()) {
				p.line("  %s", startsText(*a.StartsAt))
			}
			if a.Paused != nil {
				p.line("  %s", pausedText(a.Paused))
			}
			for _, text := range waiting {
				p.line("  %s", text)
			}
			if r.ours() && a.Done {
				_, ink := look(r.out)
				p.WriteString(outcomeText(a, failed, ink) + ignoredText(a.ID, ignored, ink))
			}
		})
	})
}

// pausedText says who has paused an attempt or a project, when and why; "" if nobody has.
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
	text := "by " + cmp.Or(p.By, "somebody") + " at " + shortTime(&p.At)
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// waiting says what an attempt and its tasks wait for that could run otherwise.
func (r *remote) waiting(ctx context.Context, a client.Attempt) ([]string, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	var list []string
	for _, t := range tasks {
		switch w := t.Waiting; {
		case w == nil:
		case strings.HasPrefix(w.Pool, "concurrency:"):
			list = append(list, fmt.Sprintf("the attempt waits for its turn since %s: as many run as `concurrency` of the workflow allows", shortTime(&w.Since)))
		default:
			list = append(list, fmt.Sprintf("%s waits since %s for %d of pool %s", t.FullName, shortTime(&w.Since), w.Slots, w.Pool))
		}
	}
	return list, err
}

// labels are in a line of their own, and in none where there are none.
func (p printer) labels(labels *param.Map) {
	if labels.Len() > 0 {
		p.line("  labels: %s", labelsText(labels))
	}
}

func labelsText(labels *param.Map) string {
	var list []string
	for name, v := range labels.All() {
		list = append(list, name+"="+shown(v))
	}
	return strings.Join(list, ", ")
}

func (p printer) attempt(a client.Attempt, status string) {
	p.block("  ", "session id", a.SessionID, "attempt id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
		"session time", offsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params,
		"created at", a.CreatedAt, "finished at", a.FinishedAt, "kill requested", a.CancelRequested, "status", status)
}

// newKill ends an attempt.
func newKill(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "kill attempt-id", Short: "Kill a running attempt; a second time also its _cancel and _finally"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Kill(ctx, id)
		if err != nil {
			return err
		}
		return r.show(a, func(p printer) { p.line("Kill requested for session attempt %s", id) })
	})
}

// newPause lets nothing new begin in an attempt.
func newPause(s streams) *cobra.Command {
	r, reason := &remote{streams: s}, ""
	c := &cobra.Command{Use: "pause attempt-id", Short: "Let nothing new begin in a running attempt; what runs ends"}
	c.Flags().StringVar(&reason, "reason", "", "why, for those who see that it is paused")
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Pause(ctx, id, reason)
		if err != nil {
			return err
		}
		text := "Session attempt %s is paused"
		if !r.pauseSeen(ctx, id, true) {
			text = "Pause requested for session attempt %s"
		}
		if err := r.show(a, func(p printer) { p.line(text, id) }); err != nil {
			return err
		}
		r.hint("What runs ends. `zerodag unpause %s` lets the attempt go on.", id)
		return nil
	})
}

// newUnpause lets a paused attempt go on.
func newUnpause(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "unpause attempt-id", Short: "Let an attempt go on that was paused"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Unpause(ctx, id)
		if err != nil {
			return err
		}
		text := "Session attempt %s goes on"
		if !r.pauseSeen(ctx, id, false) {
			text = "Session attempt %s is to go on"
		}
		return r.show(a, func(p printer) { p.line(text, id) })
	})
}

// longestPause is how long a command waits until an attempt is paused, which is a message in a queue.
const longestPause = 5 * time.Second

// pauseSeen waits until an attempt says that it is paused, or that it is not, and whether it has said so in time.
func (r *remote) pauseSeen(ctx context.Context, id client.ID, paused bool) bool {
	ctx, stop := context.WithTimeout(ctx, longestPause)
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if a, err := r.Attempt(ctx, id); err == nil && (a.Done || (a.Paused != nil) == paused) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// newTasks lists the tasks of an attempt.
func newTasks(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "tasks attempt-id", Aliases: []string{"task"}, Short: "Show the tasks of an attempt"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		list, err := r.Tasks(ctx, id)
		if err != nil {
			return err
		}
		if len(list) == 0 { // an attempt that does not exist has none either
			if _, err := r.Attempt(ctx, id); err != nil {
				return err
			}
		}
		err = r.list(list, func(p printer) {
			for _, t := range list {
				p.block("   ", "id", t.ID, "name", t.FullName, "state", t.State, "started", t.StartedAt, "updated", t.UpdatedAt,
					"config", t.Config, "parent", t.ParentID, "upstreams", t.Upstreams, "export params", t.ExportParams,
					"store params", t.StoreParams, "state params", t.StateParams)
			}
			p.line("%d entries.", len(list))
		}, taskTable(time.Now(), list), "There are no tasks.")
		if err != nil || !r.ours() {
			return err
		}
		return r.tellFailed(ctx, id, list)
	})
}

// taskTable lists tasks in the order of their ids, with their tries and what went wrong.
func taskTable(now time.Time, list []client.Task) *table {
	t := newTable(column{title: "ID"}, column{title: "TASK", name: true}, column{title: "STATE", ink: statusInk}, column{title: "TRIES"}, column{title: "STARTED", spare: true}, column{title: "TOOK"},
		column{title: "ERROR", name: true}, column{title: "UPDATED", wide: true}, column{title: "STORED", wide: true})
	for _, one := range list {
		t.add(string(one.ID), one.FullName, one.State, tries(one), shortTime(one.StartedAt), taskTook(now, one), firstLine(errorOf(one)), shortTime(&one.UpdatedAt), shown(one.StoreParams))
	}
	return t
}

// tries is how often a task has run or its group has begun; "" when there is nothing to tell.
func tries(t client.Task) string {
	if n, counted := retriesOf(t); counted {
		return strconv.Itoa(n + 1)
	}
	return ""
}

// retriesOf is how often a task was retried; false if nothing counts that.
func retriesOf(t client.Task) (int, bool) {
	again, there := t.StateParams.Get("retry_count")
	n, err := strconv.Atoi(param.Text(again))
	return n, there && err == nil
}

// longestCell is how many characters of an error a list has.
const longestCell = 200

// firstLine is as much of a message as a list has.
func firstLine(message string) string {
	line, _, more := strings.Cut(message, "\n")
	if short := shortenEnd(line, longestCell); short != line || !more {
		return short
	}
	return line + " ..."
}

func taskTook(now time.Time, t client.Task) string {
	switch t.State {
	case "running", "ready", "retry_waiting", "group_retry_waiting", "planned":
		return took(now, t.StartedAt, nil)
	}
	return took(now, t.StartedAt, &t.UpdatedAt)
}

// errorOf is what went wrong in a task, or why it did not run; "" when nothing did, or only below it.
func errorOf(t client.Task) string {
	if t.Skipped != "" {
		return "skipped: " + t.Skipped
	}
	text, _ := t.Error.Get("message")
	message, _ := text.(string)
	return briefly(message)
}
