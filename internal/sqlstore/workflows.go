package sqlstore

import (
	"context"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

func scanWorkflow(r *Row) host.Workflow {
	return host.Workflow{ID: r.ID(), Site: r.ID(), Project: scanRef(r), Revision: scanRef(r), Archive: r.Text(),
		Name: r.Text(), Zone: r.Text(), Config: r.Tree()}
}

func scanRef(r *Row) host.Ref { return host.Ref{ID: r.ID(), Name: r.Text()} }

// Workflow returns a definition of any revision.
func (s *Store) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	return ReadOne(ctx, s, scanWorkflow, Select(s.texts.workflow+"WHERE d.id = ?", id).ofSite("p.site_id", site))
}

// Workflows lists definitions: see host.Workflows.
func (s *Store) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	list := Select(s.texts.workflow+"WHERE p.site_id = ?", q.Site)
	list.When(q.Revision != 0, " AND d.revision_id = ?", q.Revision)
	list.When(q.Revision == 0, " AND d.latest_site_id = ?", q.Site)
	list.When(q.Name != "", " AND d.name = ?", q.Name)
	list.When(q.Pattern != "" && !q.OrProject, " AND "+s.contains("d.name"), q.Pattern)
	list.When(q.Pattern != "" && q.OrProject, " AND ("+s.contains("d.name")+" OR "+s.contains("p.name")+")",
		q.Pattern, q.Pattern)
	list.When(q.Last != 0 && q.Descending, " AND d.id < ?", q.Last)
	list.When(q.Last != 0 && !q.Descending, " AND d.id > ?", q.Last)
	order := "d.id"
	if q.Descending {
		order += " DESC"
	}
	list.Order(order, q.Count)
	return readPage(ctx, s, scanWorkflow, func(w host.Workflow) *param.Map { return w.Config }, q.Bytes, list)
}
