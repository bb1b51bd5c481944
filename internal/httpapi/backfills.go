package httpapi

import (
	"strconv"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

func postBackfill(c *call) (any, error) {
	var b wire.FillBody
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.Request()
	if err != nil {
		return nil, err
	}
	r.Site, r.Outside, c.dry, c.target = c.actor.Site, c.outside(), b.DryRun.Yes, "workflow "+strconv.FormatInt(r.Workflow, 10)
	if b.DryRun.Yes {
		p, err := c.Node.PlanFill(c.ctx(), r)
		if err != nil {
			return nil, err
		}
		return wire.Filled{Plan: wire.FillPlanOf(p), Warnings: c.Node.StartWarnings(c.ctx(), r.Site, r.Workflow, r.Params)}, nil
	}
	started, err := c.Node.StartFill(c.ctx(), r)
	if err != nil {
		return nil, err
	}
	c.target += " as backfill " + strconv.FormatInt(started.ID, 10)
	return wire.Filled{Backfill: new(wire.BackfillOf(started)), Warnings: c.Node.StartWarnings(c.ctx(), r.Site, r.Workflow, r.Params)}, nil
}

// fillPage is the largest page of backfills.
const fillPage = 100

func getBackfills(c *call) (any, error) {
	last, size, err := c.page(fillPage)
	if err != nil {
		return nil, err
	}
	q := host.BackfillQuery{Site: c.actor.Site, Workflow: c.text("workflow"), Open: c.flag("open"), Before: last, Count: size}
	name, given := c.arg("project")
	switch {
	case given:
		p, err := c.byName(name)
		if err != nil {
			return nil, err
		}
		q.Project = p.ID
	case q.Workflow != "":
		return nil, wire.Invalid("workflow= goes with project=")
	}
	var list []host.Backfill
	if size > 0 {
		if list, err = c.Node.Backfills(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Fill{"backfills": wire.Each(list, wire.BackfillOf)}, nil
}

func getBackfill(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	b, err := c.Node.OneBackfill(c.ctx(), c.actor.Site, n)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}

func (c *call) holdBackfill(held bool) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	c.target = "backfill " + c.vars["id"]
	b, err := c.Node.HoldBackfill(c.ctx(), c.actor.Site, n, held)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}

func killBackfill(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	c.target = "backfill " + c.vars["id"]
	b, err := c.Node.KillBackfill(c.ctx(), c.actor.Site, n)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}
