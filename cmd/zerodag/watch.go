package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/engine"
	"zerodag/internal/client"
)

// newWatch shows how an attempt goes on, as `run` does of one of its own.
func newWatch(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "watch attempt-id", Short: "Watch the tasks of an attempt until its end: exit code 0 only if it is a success"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		if !r.ours() {
			return usageError{fmt.Errorf("watch is for people: with --output %s use `zerodag attempt` and `zerodag tasks`", r.format)}
		}
		a, err := r.attemptOf(ctx, args[0])
		if err != nil {
			return err
		}
		id := a.ID
		r.hint("Attempt %s of %s/%s, session %s", a.ID, a.Project.Name, a.Workflow.Name, offsetText(a.SessionTime))
		a, err = r.followTasks(ctx, id, r.newWatcher())
		if ctx.Err() != nil {
			r.hint("The attempt goes on: `zerodag watch %s` shows it again, `zerodag kill %s` ends it.", id, id)
		}
		if err != nil {
			return err
		}
		return r.tellOutcome(ctx, a, lastLines)
	})
}

// watcher shows the tasks of an attempt each time that they were read.
type watcher interface {
	show(attempt any, rows []treeRow)
	close() // the last picture stays
}

// newWatcher is the live tree for a terminal, and lines about what changed for everything else.
func (r *remote) newWatcher() watcher {
	if file, ok := terminalOf(r.out); ok && watched(file) {
		return newTreeView(file, terminalSize(file), &aboveTree{}, nil, wholeDuration)
	}
	return &changeLines{lines: taskLines{out: r.out, whole: true}, seen: map[string]treeRow{}}
}

// followTasks reads the tasks until the attempt is over: what was read after that is all that became of them.
func (r *remote) followTasks(ctx context.Context, id client.ID, to watcher) (client.Attempt, error) {
	defer to.close()
	before := ""
	for pause := followFirst; ; pause = min(2*pause, followLast) {
		a, err := r.Attempt(ctx, id)
		if err != nil {
			return a, err
		}
		tasks, err := r.Tasks(ctx, id)
		if err != nil {
			return a, err
		}
		rows := treeRows(tasks)
		to.show(id, rows)
		if a.Done {
			return a, nil
		}
		if now := fmt.Sprint(rows); now != before {
			before, pause = now, followFirst
		}
		if err := r.Wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// treeRows are tasks that a server has told of, as the tree draws them.
func treeRows(tasks []client.Task) []treeRow {
	rows, places := make([]treeRow, len(tasks)), make(map[client.ID]engine.TaskID, len(tasks))
	for i, t := range tasks {
		row := treeRow{name: oneLine(t.FullName), state: stateNamed(t.State)}
		if t.ParentID != nil {
			row.parent = places[*t.ParentID]
		}
		places[t.ID] = engine.TaskID(i + 1)
		if t.StartedAt != nil {
			row.started = *t.StartedAt
		}
		if row.state.Done() {
			row.ended = t.UpdatedAt
		}
		rows[i] = row
	}
	for i := len(rows) - 1; i >= 0; i-- { // of a group the server notes no start: it has begun with the first in it
		r := rows[i]
		if p := r.parent; p > 0 && !r.started.IsZero() && tasks[p-1].StartedAt == nil {
			if first := &rows[p-1].started; first.IsZero() || r.started.Before(*first) {
				*first = r.started
			}
		}
	}
	return rows
}

// stateNamed is the state that a server calls so; one that this program does not know yet has not begun.
func stateNamed(name string) engine.TaskState {
	for s := engine.Blocked; s <= engine.Canceled; s++ {
		if s.String() == name {
			return s
		}
	}
	return engine.Blocked
}

// changeLines tells of each task that does something when it begins, waits to be tried again, or ends.
type changeLines struct {
	lines taskLines
	seen  map[string]treeRow
}

func (c *changeLines) show(_ any, rows []treeRow) {
	groups := make([]bool, len(rows)+1)
	for _, r := range rows {
		groups[r.parent] = groups[r.parent] || !r.isHandler() && !r.isNotice()
	}
	for i, r := range rows {
		before := c.seen[r.name]
		c.seen[r.name] = r
		if text := r.news(before); text != "" && !groups[i+1] && !r.isNotice() {
			c.lines.write(r.name, "", text) // whoever is behind it keeps the error
		}
	}
}

func (c *changeLines) close() {}

// news says what has become of a task since it was seen; "" for nothing.
func (r *treeRow) news(before treeRow) string {
	switch {
	case r.state == before.state || r.state == engine.Blocked:
		return ""
	case r.waits():
		return "failed, and is tried again"
	case !r.state.Done() && before.active() && !before.waits():
		return "" // it runs as before
	case !r.state.Done():
		return "started"
	case r.started.IsZero():
		return r.state.String()
	}
	return r.state.String() + " after " + wholeDuration(max(0, r.ended.Sub(r.started)))
}
