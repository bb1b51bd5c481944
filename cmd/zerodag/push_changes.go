package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
	"zerodag/internal/term"
)

// change is one change that a push makes.
type change struct {
	Change string     `json:"change"` // added, changed or removed
	Kind   string     `json:"kind"`   // workflow or schedule
	Name   string     `json:"name"`
	Next   *time.Time `json:"nextRunTime,omitempty"`
}

// state is a project on the server: empty if there is none.
type state struct {
	workflows map[string]client.Workflow
	schedules map[string]client.Schedule
}

func (r *remote) current(ctx context.Context, project string) (state, error) {
	s := state{workflows: map[string]client.Workflow{}, schedules: map[string]client.Schedule{}}
	p, err := r.Project(ctx, project)
	if client.IsMissing(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	workflows, err := r.ProjectWorkflows(ctx, p.ID, "")
	if err != nil {
		return s, err
	}
	for _, w := range workflows {
		s.workflows[w.Name] = w
	}
	schedules, err := r.AllSchedules(ctx, p.ID)
	for _, one := range schedules {
		s.schedules[one.Workflow.Name] = one
	}
	return s, err
}

// compare lists the differences, first of workflows and then of schedules; after contains the schedules' next runs.
func compare(before state, workflows []dig.Workflow, after map[string]client.Schedule) []change {
	list := []change{}
	now := map[string]*param.Map{}
	for _, w := range workflows {
		now[w.Name] = w.Config.Map("schedule")
		old, there := before.workflows[w.Name]
		switch {
		case !there:
			list = append(list, change{Change: "added", Kind: "workflow", Name: w.Name})
		case old.Timezone != w.Zone || !sameText(old.Config, w.Config):
			list = append(list, change{Change: "changed", Kind: "workflow", Name: w.Name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.workflows)) {
		if _, there := now[name]; !there {
			list = append(list, change{Change: "removed", Kind: "workflow", Name: name})
		}
	}
	for _, w := range workflows {
		next, scheduled := after[w.Name]
		if !scheduled {
			continue
		}
		c := change{Change: "added", Kind: "schedule", Name: w.Name, Next: &next.NextRunTime}
		if old, there := before.schedules[w.Name]; there {
			if old.NextRunTime.Equal(next.NextRunTime) && sameText(before.workflows[w.Name].Config.Map("schedule"), now[w.Name]) {
				continue
			}
			c.Change = "changed"
		}
		list = append(list, c)
	}
	for _, name := range slices.Sorted(maps.Keys(before.schedules)) {
		if now[name] == nil {
			list = append(list, change{Change: "removed", Kind: "schedule", Name: name})
		}
	}
	return list
}

// sameText compares mappings including the order of their keys, which is the order of tasks.
func sameText(a, b *param.Map) bool { return cli.Shown(a) == cli.Shown(b) }

// tellChanges shows the user what changed.
func (r *remote) tellChanges(list []change) {
	if len(list) == 0 {
		r.Hint("Nothing changed in workflows and schedules.")
		return
	}
	r.Hint("Changes:")
	for _, c := range list {
		sign := map[string]string{"added": "+", "changed": "~", "removed": "-"}[c.Change]
		next := ""
		if c.Next != nil {
			next = ", next run " + term.TimeFrom(time.Now(), c.Next.Local())
			if (schedule.Time{Time: *c.Next}).IsEnded() && !program.AsDigdag() {
				next = ", no further runs"
			}
		}
		r.Hint("  %s %s %s (%s%s)", sign, c.Kind, c.Name, c.Change, next)
	}
}

// showChanges implements `push --dry-run`.
func (c *pushCommand) showChanges(ctx context.Context, folder projectfolder.Folder, p client.Push) error {
	contents, err := folder.Read()
	if err != nil {
		return err
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	before, err := c.current(ctx, p.Project)
	if err != nil {
		return err
	}
	if err := c.findPools(ctx, folder, contents.Workflows, p.Project); err != nil {
		return err
	}
	from := p.From
	if from.IsZero() {
		from = time.Now()
	}
	after, err := expected(before, contents.Workflows, from)
	if err != nil {
		return err
	}
	list := compare(before, contents.Workflows, after)
	c.tellChanges(list)
	c.hintPausedName(ctx, p.Project)
	c.Hint("Project '%s' is not pushed.", p.Project)
	if c.ForPeople() {
		return nil
	}
	return c.Show(list, func(cli.Printer) {})
}

// findPools fails as the push would if tasks name unknown pools. A server that cannot list its pools predates them, or
// is Digdag; in that case, the push decides.
func (c *pushCommand) findPools(ctx context.Context, folder projectfolder.Folder, workflows []dig.Workflow, project string) error {
	named := dig.NamedPools(folder.Source, workflows)
	if len(named) == 0 {
		return nil
	}
	pools, err := c.Pools(ctx)
	if client.IsMissing(err) {
		return nil
	}
	if err != nil {
		c.Hint("Could not check whether the pools of the tasks exist: %v", err)
		return nil
	}
	there := map[string]bool{}
	for _, p := range pools {
		if p.Project == nil || p.Project.Name == project {
			there[p.Name] = true
		}
	}
	var missing []string
	for _, p := range named {
		if !there[p.Name] {
			missing = append(missing, p.Name)
		}
	}
	return dig.MissingPools(named, missing, host.NoPool)
}

// expected returns when schedules will run next, if that is known here: an unchanged schedule keeps its time, and all
// others are computed from the given time.
func expected(before state, workflows []dig.Workflow, from time.Time) (map[string]client.Schedule, error) {
	after := map[string]client.Schedule{}
	for _, w := range workflows {
		config := w.Config.Map("schedule")
		if config == nil {
			continue
		}
		old, there := before.schedules[w.Name]
		if was := before.workflows[w.Name]; there && was.Timezone == w.Zone && sameText(was.Config.Map("schedule"), config) {
			after[w.Name] = old
			continue
		}
		zone, err := schedule.Zone(w.Zone)
		if err != nil {
			return nil, err
		}
		s, err := dig.Schedule(w.Config, zone)
		if err != nil {
			return nil, err
		}
		after[w.Name] = client.Schedule{NextRunTime: s.First(from).RunTime}
	}
	return after, nil
}
