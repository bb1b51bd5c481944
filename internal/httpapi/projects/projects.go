package projects

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// linkValid is how long a link to the store is valid.
const linkValid = 10 * time.Minute

func getProject(c *endpoint.Call) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	return shownProject(c, p), nil
}

func getProjectByName(c *endpoint.Call) (any, error) {
	name, err := c.Required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.ProjectNamed(name)
	if err != nil {
		return nil, err
	}
	return shownProject(c, p), nil
}

// lastAndCount reads where a list continues and how long it may be; a count below zero means no limit, as in Digdag.
func lastAndCount(c *endpoint.Call) (last int64, count int, err error) {
	if last, err = c.Number("last_id", 0); err != nil {
		return 0, 0, err
	}
	n, err := c.Number("count", 100)
	if n < 0 || n > math.MaxInt32 {
		n = math.MaxInt32
	}
	return last, int(n), err
}

func getProjects(c *endpoint.Call) (any, error) {
	last, count, err := lastAndCount(c)
	if err != nil {
		return nil, err
	}
	q := host.ProjectQuery{Site: c.Actor.Site, Pattern: c.Text("name_pattern"), After: last, Count: count}
	name, byName := c.Arg("name")
	if byName {
		q = host.ProjectQuery{Site: c.Actor.Site, Name: name, Count: 1}
	}
	var list []host.Project
	if q.Count > 0 && (!byName || name != "") {
		if list, err = c.Node.Projects(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("projects", list, func(p host.Project) wire.Project { return shownProject(c, p) }), nil
}

func getRevisions(c *endpoint.Call) (any, error) {
	last, err := c.Before()
	if err != nil {
		return nil, err
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	q := host.RevisionQuery{Site: c.Actor.Site, Project: p.ID, Before: last, Count: 100}
	name, byName := c.Arg("name")
	if byName {
		q.Name, q.Before = name, 0
	}
	var list []host.Revision
	if !byName || name != "" {
		if list, err = c.Node.Revisions(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("revisions", list, func(r host.Revision) wire.Revision { return shownRevision(c, r) }), nil
}

func deleteProject(c *endpoint.Call) (any, error) {
	before, err := c.LivingProject() // for the order of checks, and the message about a deleted project
	if err != nil {
		return nil, err
	}
	c.Target = "project " + before.Name
	p, err := c.Node.DeleteProject(c.Ctx(), c.Actor.Site, before.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", before.ID)
	}
	p.DeletedAt = time.Time{} // as it was before the deletion
	return shownProject(c, p), nil
}

func pauseProject(c *endpoint.Call) (any, error) {
	reason, err := c.Reason()
	if err != nil {
		return nil, err
	}
	return changeStarts(c, func(p host.Project) (host.Project, error) {
		return c.Node.PauseProject(c.Ctx(), p.Site, p.ID, c.Actor.Name, reason)
	})
}

func unpauseProject(c *endpoint.Call) (any, error) {
	return changeStarts(c, func(p host.Project) (host.Project, error) { return c.Node.UnpauseProject(c.Ctx(), p.Site, p.ID) })
}

// changeStarts pauses or resumes a project's starts.
func changeStarts(c *endpoint.Call, change func(host.Project) (host.Project, error)) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	c.Target = "project " + p.Name
	after, err := change(p)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", p.ID)
	}
	return shownProject(c, after), nil
}

// pushRequest reads the parameters of a push, but not the archive.
func pushRequest(c *endpoint.Call) (catalogue.PushRequest, error) {
	r := catalogue.PushRequest{Site: c.Actor.Site, Project: c.Text("project"), Revision: c.Text("revision"),
		Clear: c.List("clear_schedule"), ClearAll: c.Flag("clear_schedule_all"), UserInfo: c.Actor.Info}
	switch {
	case r.Project == "":
		return r, wire.Invalid("project= is required")
	case r.Revision == "":
		return r, wire.Invalid("revision= is required")
	}
	if err := r.CheckNames(); err != nil {
		return r, err
	}
	if !c.Actor.MayUse(r.Project) {
		return r, wire.Missing("project name=%s", r.Project)
	}
	c.Target = r.Target()
	if text := c.Text("schedule_from"); text != "" {
		from, err := time.Parse(time.RFC3339, text) // with seconds, unlike times in bodies
		if err != nil {
			return r, wire.Invalid("Invalid schedule_from= parameter format. Expected yyyy-MM-dd'T'HH:mm:ss'Z' format")
		}
		r.ScheduleFrom = from
	}
	return r, nil
}

func putProject(c *endpoint.Call) (any, error) {
	r, err := pushRequest(c)
	if err != nil {
		return nil, err
	}
	size := c.R.ContentLength
	switch {
	case size > c.Limits.Archive && c.Uploads != nil:
		return nil, &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The archive is %d bytes, but a request to this server carries at most %d: push it with `zerodag push` or `zerodag upload`, which upload it directly to the store", size, c.Limits.Archive)}
	case size > c.Limits.Archive:
		return nil, wire.Invalid("Size of the uploaded archive file exceeds limit (%d bytes)", c.Limits.Archive)
	case size < 0:
		return nil, wire.Invalid("Content-Length header doesn't match with uploaded data size: it is missing")
	}
	body := &counted{Reader: http.MaxBytesReader(c.W, c.R.Body, c.Limits.Archive)}
	p, err := c.Node.Push(c.Ctx(), r, body, size)
	if body.broken {
		return nil, wire.Invalid("Content-Length header doesn't match with uploaded data size")
	}
	if err != nil {
		return nil, err
	}
	return shownProject(c, p), nil
}

func getArchive(c *endpoint.Call) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	r, err := c.RevisionAsked(p)
	if err != nil {
		return nil, err
	}
	if r.Archive == "" {
		return nil, &host.Error{Code: host.Missing, Message: "Archive is not stored"}
	}
	if err := catalogue.ArchiveRemoved(r); err != nil {
		return nil, err
	}
	if c.Links() {
		link, err := c.Node.ArchiveLink(c.Ctx(), r, linkValid)
		if err != nil {
			return nil, err
		}
		if link != "" {
			c.W.Header().Set("Location", link)
			c.W.WriteHeader(http.StatusSeeOther)
			return endpoint.Written{}, nil
		}
	}
	body, size, err := c.Node.Archive(c.Ctx(), r)
	if errors.Is(err, host.ErrNotFound) {
		return nil, &host.Error{Code: host.Missing, Message: "Archive file not found"}
	}
	if err != nil {
		return nil, err
	}
	return endpoint.Download{Type: wire.GzipType, ReadCloser: body, Size: size}, nil
}

// counted detects that a body ended before its announced length.
type counted struct {
	io.Reader
	broken bool
}

func (r *counted) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.broken = r.broken || errors.Is(err, io.ErrUnexpectedEOF)
	return n, err
}
