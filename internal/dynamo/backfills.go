package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A backfill.
//
//	B#<id>                   R       row; indexes site, project, workflow (B#<owner>, id), active (B#, id) until it is over
//	B#<project>#<workflow>   <name>  the name is taken
const (
	aPlan    = "pl"
	aState   = "bs"
	aVersion = "ve"
	aWriter  = "wb" // of the last change
)

func backfillKey(id int64) key           { return key{"B#" + decimal(id), row} }
func backfillsOfSite(site int64) string  { return "B#" + decimal(site) }
func backfillsOfProject(id int64) string { return "B#" + decimal(id) }
func backfillNameKey(b host.Backfill) key {
	return key{backfillsOf(b.Project.ID, b.Workflow.Name), b.Name}
}
func backfillsOf(project int64, workflow string) string {
	return "B#" + decimal(project) + "#" + workflow
}

// openBackfills are those of every site that are not over.
const openBackfills = "B#"

func backfillOf(it item) (host.Backfill, error) {
	b := host.Backfill{ID: it.num(aID), Site: it.num(aSite), Project: host.Ref{ID: it.num(aProject), Name: it.str(aProjectName)},
		Workflow: host.Ref{ID: it.num(aWorkflow), Name: it.str(aName)}, Name: it.str(aRetryName),
		CreatedAt: it.time(aCreated), UpdatedAt: it.time(aUpdated), FinishedAt: it.time(aFinished), Version: it.num(aVersion)}
	plan, err := unpack(it.bytes(aPlan))
	if err != nil {
		return b, err
	}
	state, err := unpack(it.bytes(aState))
	if err != nil {
		return b, err
	}
	return b, b.DecodeBackfill(plan, state)
}

func backfillItem(b host.Backfill) (item, error) {
	plan, state, err := host.EncodeBackfill(b)
	if err != nil {
		return nil, err
	}
	it := backfillKey(b.ID).item()
	it[aID] = number(b.ID)
	it[aListSite], it[aListProject] = text(backfillsOfSite(b.Site)), text(backfillsOfProject(b.Project.ID))
	it[aListWorkflow], it[aListActive] = text(backfillsOf(b.Project.ID, b.Workflow.Name)), text(openBackfills)
	it.setNum(aSite, b.Site)
	it.setNum(aProject, b.Project.ID)
	it.setStr(aProjectName, b.Project.Name)
	it.setNum(aWorkflow, b.Workflow.ID)
	it.setStr(aName, b.Workflow.Name)
	it.setStr(aRetryName, b.Name)
	it.setTime(aCreated, b.CreatedAt)
	it.setTime(aUpdated, b.UpdatedAt)
	it[aVersion] = number(b.Version)
	it.setBytes(aPlan, pack(plan))
	it.setBytes(aState, pack(state))
	return it, nil
}

// AddBackfill keeps a new backfill: see host.Backfills.
func (db *DB) AddBackfill(ctx context.Context, b host.Backfill) (host.Backfill, error) {
	b.Version = 0
	for try := 0; ; try++ {
		b.ID = db.ids.next(1)
		it, err := backfillItem(b)
		if err != nil {
			return b, err
		}
		taken := backfillNameKey(b).item()
		taken[aID] = number(b.ID)
		inTheWay, err := db.transact(ctx, []action{{put: it, when: absent()}, {put: taken, when: absent()}})
		if !errors.Is(err, errCondition) {
			return db.addedBackfill(ctx, b.ID, err)
		}
		for _, m := range inTheWay {
			if m.at == 1 {
				return db.namedBackfill(ctx, b, m.item.num(aID))
			}
		}
		if err := pause(ctx, try); err != nil { // another process had the idea of the same id
			return b, err
		}
	}
}

// addedBackfill reads what was added, as any reader has it.
func (db *DB) addedBackfill(ctx context.Context, id int64, err error) (host.Backfill, error) {
	if err != nil {
		return host.Backfill{}, err
	}
	return db.Backfill(ctx, host.AnySite, id)
}

// namedBackfill answers with the backfill that has a name. It may be the one that was to be added, whose answer was lost.
func (db *DB) namedBackfill(ctx context.Context, b host.Backfill, id int64) (host.Backfill, error) {
	there, err := db.Backfill(ctx, host.AnySite, id)
	if err == nil && id != b.ID {
		err = host.ErrConflict
	}
	return there, err
}

// Backfill returns a backfill.
func (db *DB) Backfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	it, err := db.get(ctx, backfillKey(id))
	if err != nil || it == nil || site != host.AnySite && it.num(aSite) != site {
		return host.Backfill{}, orNotFound(err, "read backfill %d", id)
	}
	return backfillOf(it)
}

// backfillList is the narrowest list that holds what is asked for.
func (db *DB) backfillList(q host.BackfillQuery) *list {
	index, partition := env.BySite(), backfillsOfSite(q.Site)
	switch {
	case q.Site == host.AnySite:
		index, partition = env.Active(), openBackfills
	case q.Project != 0 && q.Workflow != "":
		index, partition = env.ByWorkflow(), backfillsOf(q.Project, q.Workflow)
	case q.Project != 0:
		index, partition = env.ByProject(), backfillsOfProject(q.Project)
	}
	return db.listOf(index, below(q.Before), true, q.Count, []string{partition})
}

// Backfills lists backfills, descending by id.
func (db *DB) Backfills(ctx context.Context, q host.BackfillQuery) (out []host.Backfill, err error) {
	err = db.backfillList(q).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			b, err := backfillOf(it)
			if err != nil {
				return false, err
			}
			if (q.Site == host.AnySite || b.Site == q.Site) && (!q.Open || b.FinishedAt.IsZero()) {
				out = append(out, b)
			}
		}
		return q.Count > 0 && len(out) >= q.Count, nil
	})
	return upTo(out, q.Count), err
}

// UpdateBackfill changes a backfill: see host.Backfills.
func (db *DB) UpdateBackfill(ctx context.Context, b host.Backfill) error {
	_, state, err := host.EncodeBackfill(b)
	if err != nil {
		return err
	}
	writer := rand.Text() // of two that change a backfill in the same way, one must hear that it was late
	change := where{text: "SET #bs = :state, #ua = :at, #ve = :next, #wb = :writer", names: []string{aState, aUpdated, aVersion, aWriter},
		values: item{":state": binaryOf(pack(state)), ":at": micros(b.UpdatedAt), ":next": number(b.Version + 1), ":writer": text(writer)}}
	if !b.FinishedAt.IsZero() {
		change.text += ", #f = :f REMOVE #ga"
		change.names = append(change.names, aFinished, aListActive)
		change.values[":f"] = micros(b.FinishedAt)
	}
	there, err := db.update(ctx, backfillKey(b.ID), change, where{text: "#ve = :version", names: []string{aVersion}, values: item{":version": number(b.Version)}})
	switch {
	case !errors.Is(err, errCondition):
		return err
	case there.str(aWriter) == writer:
		return nil // an answer was lost: it is our own
	}
	return host.ErrConflict
}

// ForgetBackfills removes backfills that are over: see host.Backfills. Ids ascend with time, so those that were made after t are not read.
func (db *DB) ForgetBackfills(ctx context.Context, t time.Time, n int) (int, error) {
	sites, err := db.sites(ctx)
	if err != nil {
		return 0, err
	}
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, backfillsOfSite(site))
	}
	var gone []key
	err = db.listOf(env.BySite(), span{0, idAt(t)}, false, 0, partitions).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			if it.has(aFinished) && it.time(aFinished).Before(t) && len(gone) < 2*n {
				b := host.Backfill{Project: host.Ref{ID: it.num(aProject)}, Workflow: host.Ref{Name: it.str(aName)}, Name: it.str(aRetryName)}
				gone = append(gone, backfillNameKey(b), keyOf(it))
			}
		}
		return len(gone) >= 2*n, nil
	})
	if err != nil {
		return 0, err
	}
	return len(gone) / 2, db.deleteAll(ctx, gone)
}
