package dynamo

import (
	"context"
	"strings"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// Workflow returns a definition of any revision.
func (db *DB) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	it, err := db.t.Get(ctx, definitionKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return host.Workflow{}, table.OrNotFound(err, "read workflow %d", id)
	}
	w, k := workflowOf(it)
	text, err := db.t.Get(ctx, k)
	if err != nil || text == nil {
		return w, table.OrNotFound(err, "read text of workflow %d", id)
	}
	w.Config, err = db.configOf(ctx, text)
	return w, err
}

// found is a definition whose text has not been read yet.
type found struct {
	workflow host.Workflow
	text     table.Key
}

// Workflows lists definitions: see host.Workflows.
func (db *DB) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	list, err := db.definitions(ctx, q)
	if err != nil {
		return nil, err
	}
	table.SortByID(list, func(f found) int64 { return f.workflow.ID }, q.Descending)
	list = upTo(list, q.Count)
	var keys []table.Key
	for _, f := range list {
		keys = append(keys, f.text)
	}
	texts, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := host.Page[host.Workflow]{Bytes: q.Bytes}
	for _, f := range list {
		it := texts[f.text]
		if it == nil {
			return nil, table.OrNotFound(nil, "read text of workflow %d", f.workflow.ID)
		}
		if f.workflow.Config, err = db.configOf(ctx, it); err != nil {
			return nil, err
		}
		if !out.Add(f.workflow, f.workflow.Config) {
			break
		}
	}
	return out.Rows, nil
}

// definitions finds the requested definitions in the manifests of the revision, or of the newest one of every project
// that is not deleted: a push is seen with all its definitions or not at all.
func (db *DB) definitions(ctx context.Context, q host.WorkflowQuery) ([]found, error) {
	var out []found
	choose := func(it table.Item) error {
		m, err := db.manifestOf(ctx, it)
		if err != nil || m.Site != q.Site {
			return err
		}
		for _, d := range m.Definitions {
			if matches(q, m, d) {
				w, k := m.workflow(d)
				out = append(out, found{w, k})
			}
		}
		return nil
	}
	if q.Revision != 0 {
		it, err := db.t.Get(ctx, manifestKey(q.Revision))
		if err != nil || it == nil {
			return nil, err
		}
		err = choose(it)
		return out, err
	}
	err := db.projectList([]int64{q.Site}, 0, 0).Rows(ctx, func(rows []table.Item) (bool, error) {
		var keys []table.Key
		for _, it := range rows {
			if !it.Has(aDeleted) {
				keys = append(keys, manifestKey(it.Num(aRevision)))
			}
		}
		manifests, err := db.t.GetAll(ctx, keys)
		if err != nil {
			return false, err
		}
		for _, k := range keys {
			if it := manifests[k]; it != nil {
				if err := choose(it); err != nil {
					return false, err
				}
			}
		}
		return false, nil
	})
	return out, err
}

func matches(q host.WorkflowQuery, m manifest, d definition) bool {
	switch {
	case q.Name != "" && d.Name != q.Name:
		return false
	case q.Last != 0 && !q.Descending && d.ID <= q.Last, q.Last != 0 && q.Descending && d.ID >= q.Last:
		return false
	}
	return strings.Contains(d.Name, q.Pattern) || q.OrProject && strings.Contains(m.ProjectName, q.Pattern)
}
