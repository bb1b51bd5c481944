package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// pushing is one call of Push. Its revision's id stays the same however often it tries; its definitions get the ids
// that follow.
type pushing struct {
	host.Push
	project  table.Item // row as it was read; nil if it will be created
	revision int64
	old      map[string]host.Schedule // by workflow
	manifest manifest
	row      host.Project // the new row
	pushes   int64
}

// Push adds a revision: see host.Projects. Definitions are written first, invisible to readers; then one transaction
// makes the revision the project's newest and changes its schedules. If there are more than about 95 schedules, the
// rest are changed afterwards, on the condition that no other push came in between.
func (db *DB) Push(ctx context.Context, p host.Push) (host.Project, error) {
	x := &pushing{Push: p}
	var err error
	if x.revision, err = db.reserve(ctx, len(p.Workflows)+1); err != nil {
		return host.Project{}, err
	}
	for try := 0; ; try++ {
		done, err := db.push(ctx, x)
		if !errors.Is(err, table.ErrCondition) {
			return done, err
		}
		if err := table.Pause(ctx, try); err != nil {
			return host.Project{}, err
		}
	}
}

// reserve returns the first of n ids that no other push uses for revisions and definitions, because these are written
// without a condition. It reserves whole milliseconds, each marked by the manifest that will be stored there.
func (db *DB) reserve(ctx context.Context, n int) (int64, error) {
	slots := int64(n)>>table.RandomBits + 1
	for try := 0; ; {
		first, taken := db.t.NextSlots(slots), false
		for i := range slots {
			it := manifestKey(first + i<<table.RandomBits).Item()
			_, err := db.t.Put(ctx, it, table.Absent())
			if errors.Is(err, table.ErrCondition) {
				taken = true // or the id is ours and a response was lost: the next one is just as good
				break
			}
			if err != nil {
				return 0, err
			}
		}
		if !taken {
			return first, nil
		}
		if try++; try > maxReserve {
			return 0, fmt.Errorf("reserve %d ids: giving up: %w", n, host.ErrUnavailable)
		}
	}
}

// maxReserve is the maximum number of milliseconds that others may have taken.
const maxReserve = 1000

// push makes one try. It returns ErrCondition if something has changed in the meantime.
func (db *DB) push(ctx context.Context, x *pushing) (host.Project, error) {
	var none host.Project
	var err error
	if x.project, err = db.named(ctx, x.Site, x.Project); err != nil {
		return none, err
	}
	if x.project != nil {
		taken, err := db.t.Get(ctx, revisionName(x.project.Num(table.ID), x.Revision.Name))
		if err != nil {
			return none, err
		}
		if taken != nil && taken.Num(table.ID) != x.revision {
			return host.Project{ID: x.project.Num(table.ID)}, host.ErrConflict
		}
		if taken != nil { // a response was lost: the existing one is ours
			return db.Project(ctx, x.Site, x.project.Num(table.ID))
		}
	}
	if err := db.plan(ctx, x); err != nil {
		return none, err
	}
	if err := db.writeDefinitions(ctx, x); err != nil {
		return none, err
	}
	schedules, err := x.scheduleActions()
	if err != nil {
		return none, err
	}
	actions := x.revisionActions()
	first := min(len(schedules), table.MaxActions-len(actions))
	if _, err := db.t.Transact(ctx, append(actions, schedules[:first]...)); err != nil {
		return none, err
	}
	return x.row, db.restOfSchedules(ctx, x, schedules[first:])
}

// plan determines the new state of the project, and reads its current schedules.
func (db *DB) plan(ctx context.Context, x *pushing) error {
	r := x.Revision
	r.ID = x.revision
	x.pushes = x.project.Num(aPushes) + 1
	x.row = host.Project{ID: db.t.NextID(1), Site: x.Site, Name: x.Push.Project, CreatedAt: r.CreatedAt}
	before := manifest{}
	if x.project != nil {
		var err error
		if x.row, err = projectOf(x.project); err != nil {
			return err
		}
		if before, err = db.newestManifest(ctx, x.project); err != nil {
			return err
		}
	}
	r.ProjectID = x.row.ID
	x.row.Latest = r
	x.manifest = manifest{Site: x.Site, Project: x.row.ID, ProjectName: x.row.Name, Revision: r.ID, Name: r.Name, Archive: r.Archive, Schedules: map[string]int64{}}
	for i, w := range x.Workflows {
		x.manifest.Definitions = append(x.manifest.Definitions, definition{ID: x.revision + 1 + int64(i), Name: w.Name, Zone: w.Zone, Digest: digestOf(w)})
	}
	if err := db.readSchedules(ctx, x, before.Schedules); err != nil {
		return err
	}
	return db.nameSchedules(ctx, x, before.Schedules)
}

func digestOf(w dig.Workflow) string {
	sum := sha256.Sum256(append([]byte(w.Zone+"\n"), param.AppendStored(nil, w.Config)...))
	return hex.EncodeToString(sum[:])
}

func (db *DB) readSchedules(ctx context.Context, x *pushing, ids map[string]int64) error {
	var keys []table.Key
	for _, id := range ids {
		keys = append(keys, scheduleKey(id))
	}
	rows, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return err
	}
	x.old = map[string]host.Schedule{}
	for _, it := range rows {
		s := scheduleOf(it)
		x.old[s.Workflow.Name] = s
	}
	return nil
}

// nameSchedules finds ids for new schedules: for each the first free one.
func (db *DB) nameSchedules(ctx context.Context, x *pushing, ids map[string]int64) error {
	probe := map[string]int{}
	for name := range x.Schedules {
		if id := ids[name]; id != 0 {
			x.manifest.Schedules[name] = id
		} else {
			probe[name] = 0
		}
	}
	taken := map[int64]bool{}
	for _, id := range x.manifest.Schedules {
		taken[id] = true
	}
	for len(probe) > 0 {
		var keys []table.Key
		for name, n := range probe {
			keys = append(keys, scheduleKey(scheduleID(x.row.ID, name, n)))
		}
		rows, err := db.t.GetAll(ctx, keys)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(probe)) {
			id := scheduleID(x.row.ID, name, probe[name])
			if rows[scheduleKey(id)] != nil || taken[id] {
				probe[name]++
				continue
			}
			taken[id] = true
			x.manifest.Schedules[name] = id
			delete(probe, name)
		}
	}
	return nil
}

// writeDefinitions stores definitions that nothing refers to yet. A definition's key is derived from its text, so
// existing text is overwritten with identical text.
func (db *DB) writeDefinitions(ctx context.Context, x *pushing) error {
	if x.project == nil {
		it := siteKey(x.Site).Item()
		it.SetNum(table.Site, x.Site)
		if _, err := db.t.Put(ctx, it, table.Where{}); err != nil {
			return err
		}
	}
	m, err := db.manifestItem(ctx, x.manifest)
	if err != nil {
		return err
	}
	items, texts := []table.Item{m}, map[string]bool{}
	for i, d := range x.manifest.Definitions {
		it, err := definitionItem(x.manifest, d)
		if err != nil {
			return err
		}
		items = append(items, it)
		if texts[d.Digest] {
			continue
		}
		texts[d.Digest] = true
		text := configKey(x.row.ID, d.Digest).Item()
		if err := db.t.SetLarge(ctx, text, aConfig, aConfigBlob, fmt.Sprintf("definitions/%d/", x.row.ID), table.Pack(param.AppendStored(nil, x.Workflows[i].Config)), largestBody); err != nil {
			return err
		}
		items = append(items, text)
	}
	return db.t.PutAll(ctx, items)
}

// revisionActions returns the actions that make the revision the project's newest.
func (x *pushing) revisionActions() []table.Action {
	name := revisionName(x.row.ID, x.Revision.Name).Item()
	name[table.ID] = table.Number(x.revision)
	actions := []table.Action{{Put: revisionItem(x.row.Latest)}, {Put: name, When: table.Absent()}}
	if x.project != nil {
		return append(actions, table.Action{Put: projectItem(x.row, x.pushes), When: asRead(x.row, x.pushes-1)})
	}
	named := projectName(x.Site, x.row.Name).Item()
	named[table.ID] = table.Number(x.row.ID)
	return append(actions, table.Action{Put: projectItem(x.row, x.pushes), When: table.Absent()}, table.Action{Put: named, When: table.Absent()})
}

// asRead returns the condition that a project has not been pushed, deleted, paused or resumed since it was read.
func asRead(p host.Project, pushes int64) table.Where {
	w := table.Where{Text: "#np = :np AND attribute_not_exists(#dl) AND ", Names: []string{aPushes, aDeleted, aPausedAt}, Values: table.Item{":np": table.Number(pushes)}}
	if p.Paused.IsZero() {
		w.Text += "attribute_not_exists(#pz)"
		return w
	}
	w.Text += "#pz = :pz"
	w.Values[":pz"] = table.Micros(p.Paused.At)
	return w
}

// scheduleActions returns the actions that bring the project's schedules in line with the revision.
func (x *pushing) scheduleActions() ([]table.Action, error) {
	var actions []table.Action
	for _, name := range slices.Sorted(maps.Keys(x.old)) {
		if x.Schedules[name] == nil {
			actions = append(actions, table.Action{Delete: scheduleKey(x.old[name].ID)})
		}
	}
	ids := map[string]int64{}
	for _, d := range x.manifest.Definitions {
		ids[d.Name] = d.ID
	}
	for _, name := range slices.Sorted(maps.Keys(x.Schedules)) {
		if ids[name] == 0 {
			return nil, errors.New("push: schedule of " + name + ", which is not a workflow of the revision")
		}
		actions = append(actions, x.scheduleAction(name, ids[name]))
	}
	return actions, nil
}

func (x *pushing) scheduleAction(name string, definition int64) table.Action {
	at := x.Revision.CreatedAt
	s := host.Schedule{ID: x.manifest.Schedules[name], Site: x.Site, Project: host.Ref{ID: x.row.ID, Name: x.row.Name}, CreatedAt: at}
	when := table.Absent()
	var shown *host.Schedule
	if old, ok := x.old[name]; ok {
		s, shown = old, &old
		when = unchanged(old)
	}
	s.Workflow = host.Ref{ID: definition, Name: name}
	s.Times, s.UpdatedAt = x.Schedules[name](shown, !x.row.Paused.IsZero()), at
	return table.Action{Put: scheduleItem(s), When: when}
}

// unchanged returns the condition that a schedule has not changed since it was read.
func unchanged(s host.Schedule) table.Where {
	w := still(s.Times)
	w.Names = append(w.Names, aDisabled)
	if s.DisabledAt.IsZero() {
		w.Text += " AND attribute_not_exists(#da)"
	} else {
		w.Text += " AND attribute_exists(#da)"
	}
	return w
}

// restOfSchedules changes the schedules for which the first transaction had no room. Schedules that changed meanwhile
// are read again; if there was another push, that push brings all schedules in line.
func (db *DB) restOfSchedules(ctx context.Context, x *pushing, rest []table.Action) error {
	for try := 0; len(rest) > 0; {
		n := min(len(rest), table.MaxActions-1)
		mine := table.Action{Check: projectKey(x.row.ID), When: table.Where{Text: "#np = :np AND attribute_not_exists(#dl)", Names: []string{aPushes, aDeleted},
			Values: table.Item{":np": table.Number(x.pushes)}}}
		inTheWay, err := db.t.Transact(ctx, append([]table.Action{mine}, rest[:n]...))
		switch {
		case err == nil:
			rest = rest[n:]
			continue
		case !errors.Is(err, table.ErrCondition):
			return fmt.Errorf("update schedules: %w", err)
		case inTheWay[0].At == 0:
			return nil
		}
		for _, m := range inTheWay {
			if m.Item == nil {
				return nil // deleted with its project
			}
			s := scheduleOf(m.Item)
			x.old[s.Workflow.Name] = s
			for _, d := range x.manifest.Definitions {
				if d.Name == s.Workflow.Name {
					rest[m.At-1] = x.scheduleAction(d.Name, d.ID)
				}
			}
		}
		if err := table.Pause(ctx, try); err != nil {
			return err
		}
		try++
	}
	return nil
}
