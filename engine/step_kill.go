package engine

import "zerodag/engine/param"

// kill flags everything that is not done and calls waiting tasks back at once, so that
// they are cleaned up. Runs that go on end when their host meets this entry.
func (d *decision) kill() {
	d.apply(KillRequested{At: d.now})
	for _, t := range d.tasks {
		switch {
		case t == nil || t.State.Done():
		case t.State == RetryWaiting, t.State == GroupRetryWaiting && !t.Group:
			d.cleanUp(t, t.Progress.Params)
		case t.State == GroupRetryWaiting:
			d.move(t, Canceled, nil, nil)
		case t.State == Planned:
			d.look = append(d.look, t.ID)
		}
	}
	for _, g := range append([]growth(nil), d.growing...) {
		g.Next = g.Total // what was not made never will be
		d.apply(Growing{g})
		if holder := d.task(g.First); holder.State == Planned {
			d.look = append(d.look, holder.ID)
		}
	}
}

// cleanUp sends a task to its operator's clean-up, with what its last run left behind.
func (d *decision) cleanUp(t *Task, state *param.Map) {
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Params = d.guard, state
	})
}
