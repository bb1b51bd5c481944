package projects

import (
	"context"
	"slices"
	"time"

	"zerodag/engine/dig"
	"zerodag/internal/check"
	"zerodag/internal/console"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// mostTime is how long a check may take. Real projects need far less; if a check takes longer, the response states that
// it is incomplete.
const mostTime = 2 * time.Second

func checkFiles(c *endpoint.Call) (any, error) {
	var b wire.CheckBody
	c.MostBody = wire.MostChecked
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	files, err := b.Texts()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.Ctx(), mostTime)
	defer cancel()
	found, workflows := check.Files(ctx, files, c.Code)
	shown := found[:min(len(found), wire.MostFindings)]
	answer := wire.Findings{Findings: wire.Each(shown, wire.FindingOf), All: len(shown) == len(found) && ctx.Err() == nil}
	if workflows != nil {
		answer.Schedules = new(wire.SchedulesOf(workflows))
	}
	if i := slices.IndexFunc(workflows, func(w dig.Workflow) bool { return w.Name == b.Plan }); i >= 0 {
		if p, err := console.PlanHere(workflows[i], check.Source(files)); err == nil { // otherwise it is a finding
			answer.Plan = &wire.PlanHere{Tasks: wire.PlannedTasks(p), All: p.All}
		}
	}
	return answer, nil
}
