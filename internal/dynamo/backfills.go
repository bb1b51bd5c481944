package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"zerodag/internal/dynamo/table"
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

func backfillKey(id int64) table.Key     { return table.At("B#"+table.Decimal(id), table.Row) }
func backfillsOfSite(site int64) string  { return "B#" + table.Decimal(site) }
func backfillsOfProject(id int64) string { return "B#" + table.Decimal(id) }
func backfillNameKey(b host.Backfill) table.Key {
	return table.At(backfillsOf(b.Project.ID, b.Workflow.Name), b.Name)
}
func backfillsOf(project int64, workflow string) string {
	return "B#" + table.Decimal(project) + "#" + workflow
}

// openBackfills is the partition that holds the unfinished backfills of all sites.
const openBackfills = "B#"

func backfillOf(it table.Item) (host.Backfill, error) {
	b := host.Backfill{ID: it.Num(table.ID), Site: it.Num(table.Site), Project: host.Ref{ID: it.Num(aProject), Name: it.Str(aProjectName)},
		Workflow: host.Ref{ID: it.Num(aWorkflow), Name: it.Str(aName)}, Name: it.Str(aRetryName),
		CreatedAt: it.Time(aCreated), UpdatedAt: it.Time(aUpdated), FinishedAt: it.Time(aFinished), Version: it.Num(aVersion)}
	plan, err := table.Unpack(it.Bytes(aPlan))
	if err != nil {
		return b, err
	}
	state, err := table.Unpack(it.Bytes(aState))
	if err != nil {
		return b, err
	}
	return b, b.DecodeBackfill(plan, state)
}

func backfillItem(b host.Backfill) (table.Item, error) {
	plan, state, err := host.EncodeBackfill(b)
	if err != nil {
		return nil, err
	}
	it := backfillKey(b.ID).Item()
	it[table.ID] = table.Number(b.ID)
	it[aListSite], it[aListProject] = table.Text(backfillsOfSite(b.Site)), table.Text(backfillsOfProject(b.Project.ID))
	it[aListWorkflow], it[aListActive] = table.Text(backfillsOf(b.Project.ID, b.Workflow.Name)), table.Text(openBackfills)
	it.SetNum(table.Site, b.Site)
	it.SetNum(aProject, b.Project.ID)
	it.SetStr(aProjectName, b.Project.Name)
	it.SetNum(aWorkflow, b.Workflow.ID)
	it.SetStr(aName, b.Workflow.Name)
	it.SetStr(aRetryName, b.Name)
	it.SetTime(aCreated, b.CreatedAt)
	it.SetTime(aUpdated, b.UpdatedAt)
	it[aVersion] = table.Number(b.Version)
	it.SetBytes(aPlan, table.Pack(plan))
	it.SetBytes(aState, table.Pack(state))
	return it, nil
}

// backfills implements host.Backfills.
type backfills struct{ t *table.Table }

// AddBackfill stores a new backfill: see host.Backfills.
func (db *backfills) AddBackfill(ctx context.Context, b host.Backfill) (host.Backfill, error) {
	b.Version = 0
	for try := 0; ; try++ {
		b.ID = db.t.NextID(1)
		it, err := backfillItem(b)
		if err != nil {
			return b, err
		}
		taken := backfillNameKey(b).Item()
		taken[table.ID] = table.Number(b.ID)
		inTheWay, err := db.t.Transact(ctx, []table.Action{{Put: it, When: table.Absent()}, {Put: taken, When: table.Absent()}})
		if !errors.Is(err, table.ErrCondition) {
			return db.addedBackfill(ctx, b.ID, err)
		}
		for _, m := range inTheWay {
			if m.At == 1 {
				return db.namedBackfill(ctx, b, m.Item.Num(table.ID))
			}
		}
		if err := table.Pause(ctx, try); err != nil { // another process chose the same id
			return b, err
		}
	}
}

// addedBackfill reads the added backfill as any reader sees it.
func (db *backfills) addedBackfill(ctx context.Context, id int64, err error) (host.Backfill, error) {
	if err != nil {
		return host.Backfill{}, err
	}
	return db.Backfill(ctx, host.AnySite, id)
}

// namedBackfill returns the backfill that has the given name. It may be the new backfill itself if an earlier response
// was lost.
func (db *backfills) namedBackfill(ctx context.Context, b host.Backfill, id int64) (host.Backfill, error) {
	there, err := db.Backfill(ctx, host.AnySite, id)
	if err == nil && id != b.ID {
		err = host.ErrConflict
	}
	return there, err
}

// Backfill returns a backfill.
func (db *backfills) Backfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	it, err := db.t.Get(ctx, backfillKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return host.Backfill{}, table.OrNotFound(err, "read backfill %d", id)
	}
	return backfillOf(it)
}

// backfillList returns the narrowest list that contains the requested backfills.
func (db *backfills) backfillList(q host.BackfillQuery) *table.List {
	index, partition := env.BySite(), backfillsOfSite(q.Site)
	switch {
	case q.Site == host.AnySite:
		index, partition = env.Active(), openBackfills
	case q.Project != 0 && q.Workflow != "":
		index, partition = env.ByWorkflow(), backfillsOf(q.Project, q.Workflow)
	case q.Project != 0:
		index, partition = env.ByProject(), backfillsOfProject(q.Project)
	}
	return db.t.ListOf(index, table.Below(q.Before), true, q.Count, []string{partition})
}

// Backfills lists backfills, descending by id.
func (db *backfills) Backfills(ctx context.Context, q host.BackfillQuery) (out []host.Backfill, err error) {
	err = db.backfillList(q).Rows(ctx, func(rows []table.Item) (bool, error) {
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
func (db *backfills) UpdateBackfill(ctx context.Context, b host.Backfill) error {
	_, state, err := host.EncodeBackfill(b)
	if err != nil {
		return err
	}
	writer := rand.Text() // of two identical concurrent changes, one must fail because it came too late
	change := table.Where{Text: "SET #bs = :state, #ua = :at, #ve = :next, #wb = :writer", Names: []string{aState, aUpdated, aVersion, aWriter},
		Values: table.Item{":state": table.Bytes(table.Pack(state)), ":at": table.Micros(b.UpdatedAt), ":next": table.Number(b.Version + 1), ":writer": table.Text(writer)}}
	if !b.FinishedAt.IsZero() {
		change.Text += ", #f = :f REMOVE #ga"
		change.Names = append(change.Names, aFinished, aListActive)
		change.Values[":f"] = table.Micros(b.FinishedAt)
	}
	there, err := db.t.Update(ctx, backfillKey(b.ID), change, table.Where{Text: "#ve = :version", Names: []string{aVersion}, Values: table.Item{":version": table.Number(b.Version)}})
	switch {
	case !errors.Is(err, table.ErrCondition):
		return err
	case there.Str(aWriter) == writer:
		return nil // a response was lost: the existing one is ours
	}
	return host.ErrConflict
}

// ForgetBackfills removes ended backfills: see host.Backfills. Ids ascend with time, so backfills created after t are
// not read.
func (db *backfills) ForgetBackfills(ctx context.Context, t time.Time, n int) (int, error) {
	sites, err := allSites(ctx, db.t)
	if err != nil {
		return 0, err
	}
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, backfillsOfSite(site))
	}
	var gone []table.Key
	err = db.t.ListOf(env.BySite(), table.Span{From: 0, To: table.IDAt(t)}, false, 0, partitions).Rows(ctx, func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			if it.Has(aFinished) && it.Time(aFinished).Before(t) && len(gone) < 2*n {
				b := host.Backfill{Project: host.Ref{ID: it.Num(aProject)}, Workflow: host.Ref{Name: it.Str(aName)}, Name: it.Str(aRetryName)}
				gone = append(gone, backfillNameKey(b), table.KeyOf(it))
			}
		}
		return len(gone) >= 2*n, nil
	})
	if err != nil {
		return 0, err
	}
	return len(gone) / 2, db.t.DeleteAll(ctx, gone)
}
