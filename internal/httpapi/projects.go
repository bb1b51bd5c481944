package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// linkValid is how long a client has to follow a link to the store.
const linkValid = 10 * time.Minute

// living returns the project of the path unless it is deleted.
func (c *call) living() (host.Project, error) {
	n, err := c.id("id")
	if err != nil {
		return host.Project{}, err
	}
	p, err := c.Node.Project(c.ctx(), c.actor.Site, n)
	if err != nil {
		return p, wire.OrMissing(err, "project id=%d", n)
	}
	if !p.DeletedAt.IsZero() {
		return p, &host.Error{Code: host.Missing, Message: "Project id=" + c.vars["id"] + " is already deleted at " + preciseInstant(p.DeletedAt)}
	}
	return p, nil
}

// preciseInstant writes as many groups of three digits of a second as there are.
func preciseInstant(t time.Time) string {
	t = t.UTC()
	for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"} {
		s := t.Format(layout)
		if back, err := time.Parse(time.RFC3339Nano, s); err == nil && back.Equal(t) {
			return s
		}
	}
	return t.Format("2006-01-02T15:04:05.000000000Z")
}

// byName returns the living project of a name.
func (c *call) byName(name string) (host.Project, error) {
	list, err := c.Node.Projects(c.ctx(), host.ProjectQuery{Site: c.actor.Site, Name: name, Count: 1})
	if err == nil && (len(list) == 0 || name == "") {
		err = wire.Missing("project name=%s", name)
	}
	if err != nil {
		return host.Project{}, err
	}
	return list[0], nil
}

// revisionOf returns the named revision of a project, or without a name the newest.
func (c *call) revisionOf(p host.Project) (host.Revision, error) {
	name, given := c.arg("revision")
	if !given {
		return p.Latest, nil
	}
	if name == "" {
		return host.Revision{}, wire.Missing("revision name= in project id=%d", p.ID)
	}
	list, err := c.Node.Revisions(c.ctx(), host.RevisionQuery{Site: c.actor.Site, Project: p.ID, Name: name, Count: 1})
	if err == nil && len(list) == 0 {
		err = wire.Missing("revision name=%s in project id=%d", name, p.ID)
	}
	if err != nil {
		return host.Revision{}, err
	}
	return list[0], nil
}

func getProject(c *call) (any, error) {
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	return c.project(p), nil
}

func getProjectByName(c *call) (any, error) {
	name, err := c.required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.byName(name)
	if err != nil {
		return nil, err
	}
	return c.project(p), nil
}

// lastAndCount reads where a list goes on and how long it may be; a count below zero is no
// bound, as in the original.
func (c *call) lastAndCount() (last int64, count int, err error) {
	if last, err = c.number("last_id", 0); err != nil {
		return 0, 0, err
	}
	n, err := c.number("count", 100)
	if n < 0 || n > math.MaxInt32 {
		n = math.MaxInt32
	}
	return last, int(n), err
}

func getProjects(c *call) (any, error) {
	last, count, err := c.lastAndCount()
	if err != nil {
		return nil, err
	}
	q := host.ProjectQuery{Site: c.actor.Site, Pattern: c.text("name_pattern"), After: last, Count: count}
	name, byName := c.arg("name")
	if byName {
		q = host.ProjectQuery{Site: c.actor.Site, Name: name, Count: 1}
	}
	var list []host.Project
	if q.Count > 0 && (!byName || name != "") {
		if list, err = c.Node.Projects(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("projects", list, c.project), nil
}

func getRevisions(c *call) (any, error) {
	last, err := c.before()
	if err != nil {
		return nil, err
	}
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	q := host.RevisionQuery{Site: c.actor.Site, Project: p.ID, Before: last, Count: 100}
	name, byName := c.arg("name")
	if byName {
		q.Name, q.Before = name, 0
	}
	var list []host.Revision
	if !byName || name != "" {
		if list, err = c.Node.Revisions(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("revisions", list, c.revision), nil
}

func deleteProject(c *call) (any, error) {
	before, err := c.living() // the order of checks, and the text for one that is deleted
	if err != nil {
		return nil, err
	}
	c.target = "project " + before.Name
	p, err := c.Node.DeleteProject(c.ctx(), c.actor.Site, before.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", before.ID)
	}
	p.DeletedAt = time.Time{} // as before the deletion
	return c.project(p), nil
}

func pauseProject(c *call) (any, error) {
	reason, err := c.reason()
	if err != nil {
		return nil, err
	}
	return c.changeStarts(func(p host.Project) (host.Project, error) {
		return c.Node.PauseProject(c.ctx(), p.Site, p.ID, c.actor.Name, reason)
	})
}

func unpauseProject(c *call) (any, error) {
	return c.changeStarts(func(p host.Project) (host.Project, error) { return c.Node.UnpauseProject(c.ctx(), p.Site, p.ID) })
}

// changeStarts changes whether anything of a project starts.
func (c *call) changeStarts(change func(host.Project) (host.Project, error)) (any, error) {
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	c.target = "project " + p.Name
	after, err := change(p)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", p.ID)
	}
	return c.project(after), nil
}

// pushRequest reads what is to be pushed, but for the archive.
func (c *call) pushRequest() (catalogue.PushRequest, error) {
	r := catalogue.PushRequest{Site: c.actor.Site, Project: c.text("project"), Revision: c.text("revision"),
		Clear: c.list("clear_schedule"), ClearAll: c.flag("clear_schedule_all"), UserInfo: c.actor.Info}
	switch {
	case r.Project == "":
		return r, wire.Invalid("project= is required")
	case r.Revision == "":
		return r, wire.Invalid("revision= is required")
	}
	if err := r.CheckNames(); err != nil {
		return r, err
	}
	c.target = r.Target()
	if text := c.text("schedule_from"); text != "" {
		from, err := time.Parse(time.RFC3339, text) // with seconds, unlike times in bodies
		if err != nil {
			return r, wire.Invalid("Invalid schedule_from= parameter format. Expected yyyy-MM-dd'T'HH:mm:ss'Z' format")
		}
		r.ScheduleFrom = from
	}
	return r, nil
}

func putProject(c *call) (any, error) {
	r, err := c.pushRequest()
	if err != nil {
		return nil, err
	}
	size := c.r.ContentLength
	switch {
	case size > c.Limits.Archive && c.Uploads != nil:
		return nil, &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The archive has %d bytes, and a request to this server carries %d at most: push it with `zerodag push` or `zerodag upload`, which take it to the store directly", size, c.Limits.Archive)}
	case size > c.Limits.Archive:
		return nil, wire.Invalid("Size of the uploaded archive file exceeds limit (%d bytes)", c.Limits.Archive)
	case size < 0:
		return nil, wire.Invalid("Content-Length header doesn't match with uploaded data size: it is missing")
	}
	body := &counted{Reader: http.MaxBytesReader(c.w, c.r.Body, c.Limits.Archive)}
	p, err := c.Node.Push(c.ctx(), r, body, size)
	if body.broken {
		return nil, wire.Invalid("Content-Length header doesn't match with uploaded data size")
	}
	if err != nil {
		return nil, err
	}
	return c.project(p), nil
}

func getArchive(c *call) (any, error) {
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	r, err := c.revisionOf(p)
	if err != nil {
		return nil, err
	}
	if r.Archive == "" {
		return nil, &host.Error{Code: host.Missing, Message: "Archive is not stored"}
	}
	if err := catalogue.ArchiveRemoved(r); err != nil {
		return nil, err
	}
	if c.direct() {
		link, err := c.Node.ArchiveLink(c.ctx(), r, linkValid)
		if err != nil {
			return nil, err
		}
		if link != "" {
			c.w.Header().Set("Location", link)
			c.w.WriteHeader(http.StatusSeeOther)
			return written{}, nil
		}
	}
	body, size, err := c.Node.Archive(c.ctx(), r)
	if errors.Is(err, host.ErrNotFound) {
		return nil, &host.Error{Code: host.Missing, Message: "Archive file not found"}
	}
	if err != nil {
		return nil, err
	}
	return download{gzipType, body, size}, nil
}

// direct says whether this client may be sent to the store.
func (c *call) direct() bool {
	_, given := c.arg("direct_download")
	return c.Direct && (!given || c.flag("direct_download"))
}
