package engine

import "zerodag/engine/param"

// kill flags everything that is not done and wakes waiting tasks at once, so that they are cleaned up. Running tasks
// end when their host reads this entry. Why, unless empty, becomes the root's error.
func (d *decision) kill(e Kill) {
	d.apply(KillRequested{At: d.now, Forced: e.Force})
	if d.paused != nil {
		d.unpause()
	}
	if root := d.task(Root); e.Why != "" {
		d.apply(TaskChanged{Task: Root, Progress: root.Progress, Outcome: &Outcome{Error: param.New("message", e.Why)}})
	}
	for _, t := range d.tasks {
		if t != nil {
			d.callBack(t)
		}
	}
	for _, g := range append([]growth(nil), d.growing...) {
		if e.Force || !d.closes(d.task(g.First), 0) {
			d.stopGrowing(g)
		}
	}
}

// callBack ends a task that a kill has flagged, or lets it finish.
func (d *decision) callBack(t *Task) {
	switch {
	case t.State.Done(), !t.Cancel:
	case d.opensSLA(t) && t.active > 0:
		d.move(t, Planned, nil, func(p *Progress) { p.Ending = Canceled })
	case t.Parent == 0 && t.State == Blocked: // it waits for its start time
		d.finish(t, Canceled, nil, nil)
	case t.Waits(), t.Held && !t.Group && t.StartedAt.IsZero():
		d.finish(t, Canceled, nil, nil)
	case t.State == RetryWaiting, t.State == GroupRetryWaiting && !t.Group:
		d.cleanUp(t, t.Progress.Params)
	case t.State == GroupRetryWaiting:
		d.finish(t, Canceled, nil, nil)
	case t.State == Planned:
		d.look = append(d.look, t.ID)
	}
}

// stopGrowing keeps the children created so far and creates no more.
func (d *decision) stopGrowing(g growth) {
	g.Next = g.Total
	d.apply(Growing{g})
	if holder := d.task(g.First); holder.State == Planned {
		d.look = append(d.look, holder.ID)
	}
}

// cancelBelow ends everything below a task as a kill would, without touching the task itself or any other.
func (d *decision) cancelBelow(t *Task) {
	below := d.Below(t, nil)
	for _, g := range append([]growth(nil), d.growing...) {
		if g.First == t.ID || isBelow(d.State, g.First, t) && !d.closes(d.task(g.First), t.ID) {
			d.stopGrowing(g)
		}
	}
	d.apply(SubtreeCanceled{Task: t.ID, At: d.now})
	for _, x := range below {
		d.callBack(x)
	}
	d.look = append(d.look, t.ID)
}

func isBelow(s *State, id TaskID, t *Task) bool {
	for x := s.Task(id); x != nil; x = s.Task(x.Parent) {
		if x.Parent == t.ID {
			return true
		}
	}
	return false
}

// cleanUp runs the cleanup of a task's operator, with the state that the last run left behind.
func (d *decision) cleanUp(t *Task, state *param.Map) {
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Params = d.guard, state
	})
}
