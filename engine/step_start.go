package engine

import (
	"cmp"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// start creates the attempt's tasks and begins with the root.
func (d *decision) start(e Start) {
	c := AttemptStarted{Params: e.Params, Limit: cmp.Or(e.Limit, DefaultLimit), Carried: e.Carried, At: d.now}
	if d.def.SLA != nil && !e.NoSLA {
		run := e.RunAt
		if run.IsZero() {
			run = e.At
		}
		if run.IsZero() {
			run = d.now
		}
		c.SLAAt, c.SLAGuard = d.def.SLA.Due(run, d.def.Zone), d.guard
	}
	c.Priority = e.Priority
	if e.Slot != nil {
		use := claim.Use{Pool: *e.Slot, Try: 1, Since: d.now, Waits: true}
		use.Priority = e.Priority
		if root := d.def.Nodes[0]; root.Level > 0 {
			if own, there := keys.PriorityOf(root.Config); there {
				use.Priority = own
			}
		}
		c.Slot, c.SlotGuard = &use, d.guard
	}
	if e.At.After(d.now) {
		c.StartsAt, c.StartsGuard = e.At, d.guard
		d.apply(c)
		return
	}
	d.apply(c)
	d.begin()
}

// startDue begins an attempt whose start time has been reached.
func (d *decision) startDue() {
	d.apply(Begun{At: d.now, Guard: d.guard})
	d.begin()
}

// begin starts the root, unless the attempt is paused.
func (d *decision) begin() {
	d.lookAtResumed(Root)
	root := d.task(Root)
	switch {
	case root.toPrepare():
		d.prepare(root)
	case root.Group:
		d.move(root, Planned, nil, nil)
	case d.pauses(root):
		d.hold(root, nil)
	default:
		d.dispatch(root, nil)
	}
}

// slaDue adds the tasks of `sla:` below the root; no limit applies to them.
func (d *decision) slaDue() {
	d.apply(SLAFired{})
	root := d.task(Root)
	if root.State.Done() || d.canceled || d.def.SLA == nil { // after a kill nothing further runs
		return
	}
	sla := d.def.SLA
	if sla.Alert {
		d.addSLATask(root, "^sla^alert", "notify")
	}
	if sla.Fail {
		d.addSLATask(root, "^sla^fail", "fail")
	}
	if nodes, err := dig.Compile(root.Name, "^sla", keys.Language{Level: root.Level}, sla.Tasks); err == nil {
		d.addTasks(root, nodes, nil, false) // even an empty ^sla is a group
	}
}

func (d *decision) addSLATask(root *Task, name, operator string) {
	nodes, err := compile(root, name, param.New("_type", operator, "_command", "SLA violation"))
	if err == nil {
		d.addTasks(root, nodes, nil, false)
	}
}
