package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 10

// download opens a file on the server. Redirects are followed without our headers: storage services refuse, or must not
// see, the headers for the server.
func (c *transport) download(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	if c.NoDirect {
		q.Set("direct_download", "false")
	}
	var location *url.URL
	first := func() (*http.Response, error) {
		r, err := c.do(ctx, request{method: http.MethodGet, address: c.address(path, q)})
		location = redirected(r)
		return r, err
	}
	r, err := c.repeat(ctx, first)
	for n := 0; location != nil && n < maxRedirects; n++ {
		to := location.String()
		r, err = c.repeat(ctx, func() (*http.Response, error) {
			r, err := c.plain(ctx, to)
			location = redirected(r)
			return r, err
		})
	}
	if err != nil {
		return nil, err
	}
	return c.counted(r.Body, r.ContentLength), nil
}

// redirected returns the target of a redirect; nil if the response is not a redirect.
func redirected(r *http.Response) *url.URL {
	if r == nil || r.StatusCode/100 != 3 {
		return nil
	}
	to, err := r.Location()
	if err != nil {
		return nil
	}
	return to
}

// plain sends a GET to an address outside the server.
func (c *transport) plain(ctx context.Context, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	return c.answer(r)
}

// counted returns a reader that reports to Progress while it is read.
func (c *transport) counted(r io.ReadCloser, total int64) io.ReadCloser {
	if c.Progress == nil {
		return r
	}
	return &counter{ReadCloser: r, total: total, tell: c.Progress}
}

type counter struct {
	io.ReadCloser
	done, total int64
	tell        func(done, total int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.done += int64(n)
	c.tell(c.done, c.total)
	return n, err
}

// Push is a new revision of a project.
type Push struct {
	Project, Revision string
	From              time.Time // when schedules begin; zero means the server's current time
}

// Push uploads an archive of size bytes: to the store if Check found that the server accepts archives there; otherwise,
// or if the store must not be contacted, to the server itself. If the server then rejects it as too large (413), the
// archive goes to the store anyway.
func (c *Client) Push(ctx context.Context, p Push, archive io.ReaderAt, size int64) (Project, error) {
	q := query("project", p.Project, "revision", p.Revision)
	if !p.From.IsZero() {
		q.Set("schedule_from", p.From.UTC().Format(time.RFC3339Nano))
	}
	if c.slots.Load() && !c.NoDirect {
		return c.pushBySlot(ctx, q, archive, size)
	}
	body := func() io.Reader { return c.counted(io.NopCloser(io.NewSectionReader(archive, 0, size)), size) }
	r, err := c.do(ctx, request{http.MethodPut, c.address("/api/projects", q), jsonType, gzipType, body, size})
	if hasStatus(err, http.StatusRequestEntityTooLarge) {
		return c.pushBySlot(ctx, q, archive, size)
	}
	if err != nil {
		return Project{}, err
	}
	defer r.Body.Close()
	var project Project
	err = c.decode(r, &project)
	return project, err
}

// Archive opens a revision's archive, a tar.gz; "" means the newest.
func (c *Client) Archive(ctx context.Context, project ID, revision string) (io.ReadCloser, error) {
	return c.download(ctx, path("api", "projects", string(project), "archive"), query("revision", revision))
}

// Backup opens a backup of all the server's data, a tar.gz.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.download(ctx, path("api", "backup"), url.Values{})
}

// Log opens a log file as it is stored, in gzip format.
func (c *Client) Log(ctx context.Context, attempt ID, f LogFile) (io.ReadCloser, error) {
	if f.Direct == "" {
		return c.download(ctx, c.logPath(attempt, f), url.Values{})
	}
	r, err := c.repeat(ctx, func() (*http.Response, error) { return c.plain(ctx, string(f.Direct)) })
	if err != nil {
		return nil, err
	}
	return c.counted(r.Body, r.ContentLength), nil
}

// LogURL returns a log file's address: in the storage if the server provided that address, otherwise on the server.
func (c *Client) LogURL(attempt ID, f LogFile) string {
	if f.Direct != "" {
		return string(f.Direct)
	}
	return c.root + c.logPath(attempt, f)
}

func (c *Client) logPath(attempt ID, f LogFile) string {
	return path("api", "logs", string(attempt), "files", f.FileName)
}
