package catalogue

import (
	"context"
	"io"
	"time"

	"zerodag/internal/host"
)

// What follows reads the stores as they are; errors are those of the ports.

// Project returns a project, a deleted one as well.
func (c *Catalogue) Project(ctx context.Context, site, id int64) (host.Project, error) {
	return c.o.Projects.Project(ctx, site, id)
}

// Projects lists living projects, ascending by id.
func (c *Catalogue) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	return c.o.Projects.Projects(ctx, q)
}

// Revisions lists revisions of a project, newest first.
func (c *Catalogue) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	return c.o.Projects.Revisions(ctx, q)
}

// Archive reads the archive of a revision.
func (c *Catalogue) Archive(ctx context.Context, r host.Revision) (io.ReadCloser, int64, error) {
	return c.o.Blobs.Open(ctx, r.Archive)
}

// ArchiveLink returns a URL that reads the archive of a revision without credentials; "" when
// the store has none.
func (c *Catalogue) ArchiveLink(ctx context.Context, r host.Revision, valid time.Duration) (string, error) {
	return c.o.Blobs.Link(ctx, r.Archive, valid)
}

// Workflow returns a definition of any revision; also of a deleted project.
func (c *Catalogue) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	return c.o.Workflows.Workflow(ctx, site, id)
}

// Workflows lists definitions.
func (c *Catalogue) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	return c.o.Workflows.Workflows(ctx, q)
}

// Schedule returns a schedule.
func (c *Catalogue) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	return c.o.Schedules.Schedule(ctx, site, id)
}

// Schedules lists schedules of living projects, ascending by id.
func (c *Catalogue) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	return c.o.Schedules.Schedules(ctx, q)
}

// Session returns a session with its last attempt.
func (c *Catalogue) Session(ctx context.Context, site, id int64) (host.Session, error) {
	return c.o.Sessions.Session(ctx, site, id)
}

// Sessions lists sessions with their last attempts, descending by id.
func (c *Catalogue) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	return c.o.Sessions.Sessions(ctx, q)
}

// Attempt returns the row of an attempt.
func (c *Catalogue) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	return c.o.Attempts.Attempt(ctx, site, id)
}

// Attempts lists attempts, descending by id.
func (c *Catalogue) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	return c.o.Sessions.Attempts(ctx, q)
}

// LogFiles lists the log files of an attempt whose names begin with prefix, sorted by name.
func (c *Catalogue) LogFiles(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	return c.o.Logs.Files(ctx, a, prefix)
}

// LogFile reads a log file, gzip as it is stored, also while it is written.
func (c *Catalogue) LogFile(ctx context.Context, a host.Attempt, name string) (io.ReadCloser, int64, error) {
	return c.o.Logs.File(ctx, a, name)
}

// SecretKeys lists the keys of a project's secrets in their order.
func (c *Catalogue) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	return c.o.Secrets.SecretKeys(ctx, site, project)
}

// PutSecret stores a secret of a project.
func (c *Catalogue) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	return c.o.Secrets.PutSecret(ctx, site, project, key, value)
}

// DeleteSecret removes a secret of a project.
func (c *Catalogue) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	return c.o.Secrets.DeleteSecret(ctx, site, project, key)
}
