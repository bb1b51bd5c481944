package postgres

import (
	"context"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

const selectWorkflow = "SELECT d.id, p.site_id, p.id, coalesce(p.name, p.deleted_name), r.id, r.name, r.archive_path, d.name, c.timezone, c.config" +
	" FROM workflow_definitions d JOIN revisions r ON r.id = d.revision_id JOIN projects p ON p.id = r.project_id" +
	" JOIN workflow_configs c ON c.id = d.config_id "

func scanWorkflow(r *row) host.Workflow {
	return host.Workflow{ID: r.id(), Site: r.id(), Project: scanRef(r), Revision: scanRef(r), Archive: r.text(), Name: r.text(), Zone: r.text(), Config: r.tree()}
}

func scanRef(r *row) host.Ref { return host.Ref{ID: r.id(), Name: r.text()} }

// Workflow returns a definition of any revision.
func (db *DB) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	return readOne(ctx, db, scanWorkflow, selection(selectWorkflow+"WHERE d.id = ? AND ?::bigint IN (-1, p.site_id)", id, site))
}

// Workflows lists definitions: see host.Workflows.
func (db *DB) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	s := selection(selectWorkflow+"WHERE p.site_id = ?", q.Site)
	s.when(q.Revision != 0, " AND d.revision_id = ?", q.Revision)
	s.when(q.Revision == 0, " AND d.latest_site_id = ?", q.Site)
	s.when(q.Name != "", " AND d.name = ?", q.Name)
	s.when(q.Pattern != "" && !q.OrProject, " AND position(?::bytea IN d.name) > 0", q.Pattern)
	s.when(q.Pattern != "" && q.OrProject, " AND (position(?::bytea IN d.name) > 0 OR position(?::bytea IN p.name) > 0)", q.Pattern, q.Pattern)
	if q.Descending {
		s.when(q.Last != 0, " AND d.id < ?", q.Last)
		s.when(true, " ORDER BY d.id DESC LIMIT ?", limit(q.Count))
	} else {
		s.when(q.Last != 0, " AND d.id > ?", q.Last)
		s.when(true, " ORDER BY d.id LIMIT ?", limit(q.Count))
	}
	return readPage(ctx, db, scanWorkflow, func(w host.Workflow) *param.Map { return w.Config }, q.Bytes, s)
}
