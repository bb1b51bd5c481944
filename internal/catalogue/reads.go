package catalogue

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
	"zerodag/internal/sitesecret"
)

// The following methods read the stores directly and return the errors of the ports.

// Project returns a project, even a deleted one.
func (c reading) Project(ctx context.Context, site, id int64) (host.Project, error) {
	return c.o.Projects.Project(ctx, site, id)
}

// Projects lists living projects, ascending by id.
func (c reading) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	return c.o.Projects.Projects(ctx, q)
}

// Sites lists up to n sites with numbers above after that have or had projects, ascending.
func (c reading) Sites(ctx context.Context, after int64, n int) ([]host.Site, error) {
	return c.o.Projects.Sites(ctx, after, n)
}

// Limits returns the limits that are configured for this deployment.
func (c reading) Limits() host.Limits { return c.o.Limits }

// Revisions lists revisions of a project, newest first.
func (c reading) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	return c.o.Projects.Revisions(ctx, q)
}

// Archive reads a revision's archive.
func (c reading) Archive(ctx context.Context, r host.Revision) (io.ReadCloser, int64, error) {
	return c.o.Blobs.Open(ctx, r.Archive)
}

// ArchiveLink returns a URL that reads a revision's archive without credentials; "" if the store does not support
// links.
func (c reading) ArchiveLink(ctx context.Context, r host.Revision, valid time.Duration) (string, error) {
	return c.o.Blobs.Link(ctx, r.Archive, valid)
}

// Workflow returns a definition of any revision, even of a deleted project.
func (c reading) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	return c.o.Workflows.Workflow(ctx, site, id)
}

// Workflows lists definitions.
func (c reading) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	return c.o.Workflows.Workflows(ctx, q)
}

// Schedule returns a schedule.
func (c reading) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	return c.o.Schedules.Schedule(ctx, site, id)
}

// Schedules lists schedules of living projects, ascending by id.
func (c reading) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	return c.o.Schedules.Schedules(ctx, q)
}

// Session returns a session with its last attempt.
func (c reading) Session(ctx context.Context, site, id int64) (host.Session, error) {
	return c.o.Sessions.Session(ctx, site, id)
}

// Sessions lists sessions with their last attempts, descending by id.
func (c reading) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	return c.o.Sessions.Sessions(ctx, q)
}

// Attempt returns an attempt's row.
func (c reading) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	return c.o.Attempts.Attempt(ctx, site, id)
}

// Attempts lists attempts, descending by id.
func (c reading) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	return c.o.Sessions.Attempts(ctx, q)
}

// Active lists unfinished attempts, ascending by id.
func (c reading) Active(ctx context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	return c.o.Sessions.Active(ctx, q)
}

// CountActive counts a site's unfinished attempts that the caller may see, up to limit.
func (c reading) CountActive(ctx context.Context, site int64, limit int) (int, error) {
	if c.confined { // the stores count whole sites, to which limits apply
		list, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: site, Count: limit})
		return len(list), err
	}
	return c.o.Sessions.CountActive(ctx, site, limit)
}

// LogFiles lists an attempt's log files whose names begin with prefix, in the order in which their runs began.
func (c reading) LogFiles(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	list, err := c.o.Logs.Files(ctx, a, prefix)
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b host.LogFile) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name)) })
	return list, err
}

// LinkAsText replaces the links to files with links that a browser shows as text. Programs that decompress files must
// not get these links, because their HTTP client may already have decompressed the text.
func (c reading) LinkAsText(ctx context.Context, a host.Attempt, list []host.LogFile) error {
	links, ok := c.o.Logs.(host.TextLinks)
	if !ok {
		return nil
	}
	for i, f := range list {
		if f.Direct == "" {
			continue
		}
		var err error
		if list[i].Direct, err = links.TextLink(ctx, a, f); err != nil {
			return err
		}
	}
	return nil
}

// LogFile reads a log file as stored, in gzip format, even while it is being written. An *Error means that the file was
// removed because of its age.
func (c reading) LogFile(ctx context.Context, a host.Attempt, name string) (io.ReadCloser, int64, error) {
	r, size, err := c.o.Logs.File(ctx, a, name)
	if errors.Is(err, host.ErrNotFound) && c.logsGone(a) {
		return nil, 0, host.Missingf("log file name=%s of session attempt id=%d: logs are removed %v after the end of their attempt", name, a.ID, c.o.Limits.KeepLogs)
	}
	return r, size, err
}

// SecretKeys lists the keys of a project's secrets, sorted.
func (c reading) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	return c.o.Secrets.SecretKeys(ctx, site, project)
}

// SiteSecrets lists a site's secrets, sorted by key.
func (c reading) SiteSecrets(ctx context.Context, site int64) ([]host.SiteSecret, error) {
	return sitesecret.List(ctx, c.o.Secrets, site)
}

// PutSiteSecret stores a site secret.
func (c reading) PutSiteSecret(ctx context.Context, site int64, s host.SiteSecret, value string) error {
	for _, name := range s.Projects {
		if err := names.Project(name); err != nil {
			return err
		}
	}
	return sitesecret.Put(ctx, c.o.Secrets, site, s, value)
}

// DeleteSiteSecret removes a site secret.
func (c reading) DeleteSiteSecret(ctx context.Context, site int64, key string) error {
	return sitesecret.Delete(ctx, c.o.Secrets, site, key)
}

// PutSecret stores a project secret.
func (c reading) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	return c.o.Secrets.PutSecret(ctx, site, project, key, value)
}

// DeleteSecret removes a project secret.
func (c reading) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	return c.o.Secrets.DeleteSecret(ctx, site, project, key)
}
