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
	"zerodag/internal/host"
)

// pushing is one call of Push. The id of its revision stays the same however often it
// tries; those of its definitions follow it.
type pushing struct {
	host.Push
	project  item // row as it was read; nil when it will be made
	revision int64
	old      map[string]host.Schedule // by workflow
	manifest manifest
	row      host.Project // what it will be
	pushes   int64
}

// Push adds a revision: see host.Projects. Definitions are written first, where no reader sees
// them; then one transaction makes the revision the project's newest and changes its
// schedules. Of more than some 95 schedules the rest follows, under the condition that no
// other push came in between.
func (db *DB) Push(ctx context.Context, p host.Push) (host.Project, error) {
	x := &pushing{Push: p}
	var err error
	if x.revision, err = db.reserve(ctx, len(p.Workflows)+1); err != nil {
		return host.Project{}, err
	}
	for try := 0; ; try++ {
		done, err := db.push(ctx, x)
		if !errors.Is(err, errCondition) {
			return done, err
		}
		if err := pause(ctx, try); err != nil {
			return host.Project{}, err
		}
	}
}

// reserve returns the first of n ids that no other push uses for revisions and definitions,
// which are written without a condition: whole milliseconds, each marked by the manifest
// that will be there.
func (db *DB) reserve(ctx context.Context, n int) (int64, error) {
	slots := int64(n)>>randomBits + 1
	for try := 0; ; {
		first, taken := db.ids.slots(slots), false
		for i := range slots {
			it := manifestKey(first + i<<randomBits).item()
			_, err := db.put(ctx, it, absent())
			if errors.Is(err, errCondition) {
				taken = true // or it is ours, and an answer was lost: the next one is as good
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
			return 0, fmt.Errorf("reserve %d ids: in vain: %w", n, host.ErrUnavailable)
		}
	}
}

// maxReserve is how many milliseconds may be taken by others.
const maxReserve = 1000

// push tries once. errCondition: something changed meanwhile.
func (db *DB) push(ctx context.Context, x *pushing) (host.Project, error) {
	var none host.Project
	var err error
	if x.project, err = db.named(ctx, x.Site, x.Project); err != nil {
		return none, err
	}
	if x.project != nil {
		taken, err := db.get(ctx, revisionName(x.project.num(aID), x.Revision.Name))
		if err != nil {
			return none, err
		}
		if taken != nil && taken.num(aID) != x.revision {
			return host.Project{ID: x.project.num(aID)}, host.ErrConflict
		}
		if taken != nil { // an answer was lost: it is our own
			return db.Project(ctx, x.Site, x.project.num(aID))
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
	first := min(len(schedules), maxActions-len(actions))
	if _, err := db.transact(ctx, append(actions, schedules[:first]...)); err != nil {
		return none, err
	}
	return x.row, db.restOfSchedules(ctx, x, schedules[first:])
}

// plan says what the project will be, and reads the schedules that it has.
func (db *DB) plan(ctx context.Context, x *pushing) error {
	r := x.Revision
	r.ID = x.revision
	x.pushes = x.project.num(aPushes) + 1
	x.row = host.Project{ID: db.ids.next(1), Site: x.Site, Name: x.Push.Project, CreatedAt: r.CreatedAt}
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
	var keys []key
	for _, id := range ids {
		keys = append(keys, scheduleKey(id))
	}
	rows, err := db.getAll(ctx, keys)
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

// nameSchedules finds the ids of new schedules: the first one that is free.
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
		var keys []key
		for name, n := range probe {
			keys = append(keys, scheduleKey(scheduleID(x.row.ID, name, n)))
		}
		rows, err := db.getAll(ctx, keys)
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

// writeDefinitions stores what nothing refers to yet. Texts are named by their content:
// one that is there already is written again as it is.
func (db *DB) writeDefinitions(ctx context.Context, x *pushing) error {
	if x.project == nil {
		it := siteKey(x.Site).item()
		it.setNum(aSite, x.Site)
		if _, err := db.put(ctx, it, where{}); err != nil {
			return err
		}
	}
	m, err := db.manifestItem(ctx, x.manifest)
	if err != nil {
		return err
	}
	items, texts := []item{m}, map[string]bool{}
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
		text := configKey(x.row.ID, d.Digest).item()
		if err := db.setLarge(ctx, text, aConfig, aConfigBlob, fmt.Sprintf("definitions/%d/", x.row.ID), pack(param.AppendStored(nil, x.Workflows[i].Config)), largestBody); err != nil {
			return err
		}
		items = append(items, text)
	}
	return db.putAll(ctx, items)
}

// revisionActions make the revision the project's newest.
func (x *pushing) revisionActions() []action {
	name := revisionName(x.row.ID, x.Revision.Name).item()
	name[aID] = number(x.revision)
	actions := []action{{put: revisionItem(x.row.Latest)}, {put: name, when: absent()}}
	if x.project != nil {
		return append(actions, action{put: projectItem(x.row, x.pushes), when: asRead(x.row, x.pushes-1)})
	}
	named := projectName(x.Site, x.row.Name).item()
	named[aID] = number(x.row.ID)
	return append(actions, action{put: projectItem(x.row, x.pushes), when: absent()}, action{put: named, when: absent()})
}

// asRead is the condition that a project is as it was read: nobody has pushed, deleted or paused it since, or let it go on.
func asRead(p host.Project, pushes int64) where {
	w := where{text: "#np = :np AND attribute_not_exists(#dl) AND ", names: []string{aPushes, aDeleted, aPausedAt}, values: item{":np": number(pushes)}}
	if p.Paused.IsZero() {
		w.text += "attribute_not_exists(#pz)"
		return w
	}
	w.text += "#pz = :pz"
	w.values[":pz"] = micros(p.Paused.At)
	return w
}

// scheduleActions bring the schedules of the project in line with the revision.
func (x *pushing) scheduleActions() ([]action, error) {
	var actions []action
	for _, name := range slices.Sorted(maps.Keys(x.old)) {
		if x.Schedules[name] == nil {
			actions = append(actions, action{delete: scheduleKey(x.old[name].ID)})
		}
	}
	ids := map[string]int64{}
	for _, d := range x.manifest.Definitions {
		ids[d.Name] = d.ID
	}
	for _, name := range slices.Sorted(maps.Keys(x.Schedules)) {
		if ids[name] == 0 {
			return nil, errors.New("push: schedule of " + name + ", which is no workflow of the revision")
		}
		actions = append(actions, x.scheduleAction(name, ids[name]))
	}
	return actions, nil
}

func (x *pushing) scheduleAction(name string, definition int64) action {
	at := x.Revision.CreatedAt
	s := host.Schedule{ID: x.manifest.Schedules[name], Site: x.Site, Project: host.Ref{ID: x.row.ID, Name: x.row.Name}, CreatedAt: at}
	when := absent()
	var shown *host.Schedule
	if old, ok := x.old[name]; ok {
		s, shown = old, &old
		when = unchanged(old)
	}
	s.Workflow = host.Ref{ID: definition, Name: name}
	s.Times, s.UpdatedAt = x.Schedules[name](shown, !x.row.Paused.IsZero()), at
	return action{put: scheduleItem(s), when: when}
}

// unchanged is the condition that a schedule is as it was read.
func unchanged(s host.Schedule) where {
	w := still(s.Times)
	w.names = append(w.names, aDisabled)
	if s.DisabledAt.IsZero() {
		w.text += " AND attribute_not_exists(#da)"
	} else {
		w.text += " AND attribute_exists(#da)"
	}
	return w
}

// restOfSchedules does what the first transaction had no room for. What changed meanwhile
// is read again; when another push came, that one brings all of them in line.
func (db *DB) restOfSchedules(ctx context.Context, x *pushing, rest []action) error {
	for try := 0; len(rest) > 0; {
		n := min(len(rest), maxActions-1)
		mine := action{check: projectKey(x.row.ID), when: where{text: "#np = :np AND attribute_not_exists(#dl)", names: []string{aPushes, aDeleted},
			values: item{":np": number(x.pushes)}}}
		inTheWay, err := db.transact(ctx, append([]action{mine}, rest[:n]...))
		switch {
		case err == nil:
			rest = rest[n:]
			continue
		case !errors.Is(err, errCondition):
			return fmt.Errorf("bring schedules in line: %w", err)
		case inTheWay[0].at == 0:
			return nil
		}
		for _, m := range inTheWay {
			if m.item == nil {
				return nil // deleted with its project
			}
			s := scheduleOf(m.item)
			x.old[s.Workflow.Name] = s
			for _, d := range x.manifest.Definitions {
				if d.Name == s.Workflow.Name {
					rest[m.at-1] = x.scheduleAction(d.Name, d.ID)
				}
			}
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		try++
	}
	return nil
}
