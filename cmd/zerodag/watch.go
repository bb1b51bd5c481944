package main

import (
	"context"
	"fmt"
	"slices"

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

// followTasks shows the tasks until the attempt is over: what was read after that is all that became of them.
func (r *remote) followTasks(ctx context.Context, id client.ID, to watcher) (client.Attempt, error) {
	defer to.close()
	a, err := r.followChanges(ctx, id, to)
	if client.IsMissing(err) { // a server without these: all tasks are read each time
		return r.pollTasks(ctx, id, to)
	}
	return a, err
}

// pollTasks reads all tasks again and again.
func (r *remote) pollTasks(ctx context.Context, id client.ID, to watcher) (client.Attempt, error) {
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

// followChanges reads all tasks once, and from then on what changes.
func (r *remote) followChanges(ctx context.Context, id client.ID, to watcher) (client.Attempt, error) {
	var tasks liveTasks
	for pause := followFirst; ; pause = min(2*pause, followLast) {
		news, over, err := r.readChanges(ctx, id, &tasks)
		if err != nil {
			return client.Attempt{}, err
		}
		to.show(id, tasks.tree())
		if over {
			return r.Attempt(ctx, id)
		}
		if news {
			pause = followFirst
		}
		if err := r.Wait(ctx, pause); err != nil {
			return client.Attempt{}, err
		}
	}
}

// readChanges reads what is new, and says whether there was anything and whether it is all that there will be. An
// attempt that has not begun, or that was over before it was looked at, has no history to follow.
func (r *remote) readChanges(ctx context.Context, id client.ID, tasks *liveTasks) (news, over bool, err error) {
	if tasks.seq == 0 {
		a, err := r.Attempt(ctx, id) // before its tasks: once it says done, they are all
		if err != nil {
			return false, false, err
		}
		n := len(tasks.rows)
		if *tasks, err = r.outlined(ctx, id); err != nil || a.Done || tasks.seq == 0 {
			return len(tasks.rows) > n, a.Done, err
		}
	}
	for {
		p, err := r.Changes(ctx, id, tasks.seq)
		if err != nil {
			return news, false, err
		}
		for _, ch := range p.Changes {
			news = true
			tasks.apply(ch)
		}
		stuck := p.Next <= tasks.seq
		if tasks.seq = max(p.Next, tasks.seq); !p.More || stuck {
			return news, p.Done, nil
		}
	}
}

// outlined reads all tasks. What changes while their pages are read comes with the changes after the first.
func (r *remote) outlined(ctx context.Context, id client.ID) (liveTasks, error) {
	var tasks liveTasks
	for after := int64(0); ; {
		o, err := r.Outline(ctx, id, after)
		if err != nil {
			return tasks, err
		}
		if after == 0 && o.Seq != nil {
			tasks.seq = *o.Seq
		}
		tasks.add(&o.Tasks)
		if o.Next == nil || *o.Next <= after {
			return tasks, nil
		}
		after = *o.Next
	}
}

// liveTasks are the tasks of an attempt as of an entry of its history.
type liveTasks struct {
	seq  int64 // 0: there is none to follow
	rows []treeRow
}

// add adds tasks, each behind its parent. Their numbers count from 1, so the place of each is known.
func (l *liveTasks) add(c *client.Columns) {
	for i := range c.Len() {
		if c.ID[i] != int64(len(l.rows))+1 || c.Parent[i] < 0 || c.Parent[i] >= c.ID[i] {
			continue // it is there already
		}
		row := treeRow{name: oneLine(c.Name[i]), state: stateNamed(c.State[i]), started: client.Moment(c.Started[i]), parent: engine.TaskID(c.Parent[i])}
		if row.parent > 0 {
			row.name = l.rows[row.parent-1].name + row.name
		}
		if row.state.Done() {
			row.ended = client.Moment(c.Changed[i])
		}
		l.rows = append(l.rows, row)
	}
}

// apply makes a change.
func (l *liveTasks) apply(ch client.Change) {
	if ch.Made != nil {
		l.add(ch.Made)
	}
	for i, id := range ch.Task {
		if id < 1 || id > int64(len(l.rows)) || i >= len(ch.State) {
			continue
		}
		row := &l.rows[id-1]
		row.state = stateNamed(ch.State[i])
		if row.state == engine.Running && row.started.IsZero() {
			row.started = client.Moment(ch.At)
		}
		if row.state.Done() {
			row.ended = client.Moment(ch.At)
		}
	}
}

// tree are the tasks as the tree draws them.
func (l *liveTasks) tree() []treeRow {
	rows := slices.Clone(l.rows)
	begun := make([]bool, len(rows))
	for i := range rows {
		begun[i] = !rows[i].started.IsZero()
	}
	beginGroups(rows, begun)
	return rows
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
	begun := make([]bool, len(rows))
	for i, t := range tasks {
		begun[i] = t.StartedAt != nil
	}
	beginGroups(rows, begun)
	return rows
}

// beginGroups notes when groups have begun, of which the server notes no start: with the first task in them.
func beginGroups(rows []treeRow, begun []bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		if p := r.parent; p > 0 && !r.started.IsZero() && !begun[p-1] {
			if first := &rows[p-1].started; first.IsZero() || r.started.Before(*first) {
				*first = r.started
			}
		}
	}
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
