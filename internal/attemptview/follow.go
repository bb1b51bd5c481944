package attemptview

import (
	"context"
	"fmt"

	"zerodag/internal/client"
	"zerodag/internal/taskview"
)

// Watcher shows an attempt's tasks each time they are read.
type Watcher interface {
	Show(attempt any, rows []taskview.Row)
	Close() // leaves the last output on the screen
}

// Follow shows an attempt's tasks until the attempt has ended, then closes the watcher. It returns the attempt.
func (r Attempts) Follow(ctx context.Context, id client.ID, to Watcher) (client.Attempt, error) {
	defer to.Close()
	a, err := r.followChanges(ctx, id, to)
	if client.IsMissing(err) { // the server has no history: all tasks are read each time
		return r.pollTasks(ctx, id, to)
	}
	return a, err
}

// pollTasks reads all tasks repeatedly.
func (r Attempts) pollTasks(ctx context.Context, id client.ID, to Watcher) (client.Attempt, error) {
	before := ""
	for pause := FollowFirst; ; pause = min(2*pause, FollowLast) {
		a, err := r.Attempt(ctx, id)
		if err != nil {
			return a, err
		}
		tasks, err := r.Tasks(ctx, id)
		if err != nil {
			return a, err
		}
		rows := treeRows(tasks)
		to.Show(id, rows)
		if a.Done {
			return a, nil
		}
		if now := fmt.Sprint(rows); now != before {
			before, pause = now, FollowFirst
		}
		if err := r.Wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// followChanges reads all tasks once, and from then on only changes.
func (r Attempts) followChanges(ctx context.Context, id client.ID, to Watcher) (client.Attempt, error) {
	var tasks liveTasks
	for pause := FollowFirst; ; pause = min(2*pause, FollowLast) {
		news, over, err := r.readChanges(ctx, id, &tasks)
		if err != nil {
			return client.Attempt{}, err
		}
		to.Show(id, tasks.tree())
		if over {
			return r.Attempt(ctx, id)
		}
		if news {
			pause = FollowFirst
		}
		if err := r.Wait(ctx, pause); err != nil {
			return client.Attempt{}, err
		}
	}
}

// readChanges reads new changes. It reports whether there were any and whether the attempt has ended. An attempt that
// has not begun, or that had ended before the first read, has no history to follow.
func (r Attempts) readChanges(ctx context.Context, id client.ID, tasks *liveTasks) (news, over bool, err error) {
	if tasks.seq == 0 {
		a, err := r.Attempt(ctx, id) // before its tasks: once it is marked done, they are complete
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

// outlined reads all tasks. Changes that happen while the pages are being read are among the changes after the first
// page.
func (r Attempts) outlined(ctx context.Context, id client.ID) (liveTasks, error) {
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
