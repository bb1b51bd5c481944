package schedules

import (
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// importSchedules lets schedules continue from their position on another server.
func importSchedules(c *endpoint.Call) (any, error) {
	var b wire.ImportSchedulesBody
	c.MostBody = wire.MostImport
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	list, err := b.List()
	if err != nil {
		return nil, err
	}
	c.Target = strconv.Itoa(len(list)) + " schedules"
	done, err := c.Node.ImportSchedules(c.Ctx(), c.Actor.Site, list, catalogue.Enabling(b.Enabling), b.DryRun.Yes)
	if err != nil {
		return nil, err
	}
	rows := make([]wire.ImportedSchedule, len(done))
	for i, s := range done {
		rows[i] = wire.ImportedSchedule{Project: s.Project, Workflow: s.Workflow, Outcome: s.Outcome}
		if s.Outcome == catalogue.ScheduleMissing {
			continue
		}
		shown, err := shownSchedule(c, s.Now)
		if err != nil {
			return nil, err
		}
		rows[i].Schedule = &shown
	}
	return map[string][]wire.ImportedSchedule{"schedules": rows}, nil
}
