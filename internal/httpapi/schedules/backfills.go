package schedules

import (
	"strconv"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func postBackfill(c *endpoint.Call) (any, error) {
	var b wire.FillBody
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.Request()
	if err != nil {
		return nil, err
	}
	r.Site, r.Outside, c.Dry, c.Target = c.Actor.Site, c.Outside(), b.DryRun.Yes, "workflow "+strconv.FormatInt(r.Workflow, 10)
	if b.DryRun.Yes {
		p, err := c.Node.PlanFill(c.Ctx(), r)
		if err != nil {
			return nil, err
		}
		return wire.Filled{Plan: wire.FillPlanOf(p), Warnings: c.Node.StartWarnings(c.Ctx(), r.Site, r.Workflow, r.Params)}, nil
	}
	started, err := c.Node.StartFill(c.Ctx(), r)
	if err != nil {
		return nil, err
	}
	c.Target += " as backfill " + strconv.FormatInt(started.ID, 10)
	return wire.Filled{Backfill: new(wire.BackfillOf(started)), Warnings: c.Node.StartWarnings(c.Ctx(), r.Site, r.Workflow, r.Params)}, nil
}

// fillPage is the maximum size of a page of backfills.
const fillPage = 100

func getBackfills(c *endpoint.Call) (any, error) {
	last, size, err := c.Page(fillPage)
	if err != nil {
		return nil, err
	}
	q := host.BackfillQuery{Site: c.Actor.Site, Workflow: c.Text("workflow"), Open: c.Flag("open"), Before: last, Count: size}
	name, given := c.Arg("project")
	switch {
	case given:
		p, err := c.ProjectNamed(name)
		if err != nil {
			return nil, err
		}
		q.Project = p.ID
	case q.Workflow != "":
		return nil, wire.Invalid("workflow= requires project=")
	}
	var list []host.Backfill
	if size > 0 {
		if list, err = c.Node.Backfills(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Fill{"backfills": wire.Each(list, wire.BackfillOf)}, nil
}

func getBackfill(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	b, err := c.Node.OneBackfill(c.Ctx(), c.Actor.Site, n)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}

func holdBackfill(c *endpoint.Call, held bool) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	c.Target = "backfill " + c.Vars["id"]
	b, err := c.Node.HoldBackfill(c.Ctx(), c.Actor.Site, n, held)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}

func killBackfill(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	c.Target = "backfill " + c.Vars["id"]
	b, err := c.Node.KillBackfill(c.Ctx(), c.Actor.Site, n)
	if err != nil {
		return nil, err
	}
	return wire.BackfillOf(b), nil
}
