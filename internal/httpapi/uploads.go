package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/uploads"
)

// Uploads hands out slots: places in the store that take one announced archive each, past
// this API. What is to be done with it is kept where only the server writes.
type Uploads interface {
	// OpenSlot signs where the archive goes.
	OpenSlot(ctx context.Context, s uploads.Slot) (uploads.Place, error)
	// CloseSlot puts together an archive that came in parts; tags are what the store
	// answered for each. Repeated it changes nothing. host.ErrNotFound.
	CloseSlot(ctx context.Context, site int64, id string, tags []string) error
	// uploads.Outcome says how far a slot is. host.ErrNotFound.
	Outcome(ctx context.Context, site int64, id string) (uploads.Outcome, error)
}

// Bounds of parts: the store's own, and what one answer can hold.
const (
	smallestPart = 5 << 20
	mostParts    = 1000
)

// uploads returns the slots; where there are none the paths do not exist.
func (c *call) uploads() (Uploads, error) {
	if c.Uploads == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server has no upload slots: push by PUT /api/projects"}
	}
	return c.Uploads, nil
}

// postUpload opens a slot. Nothing is changed yet: the push is recorded when it is one.
func postUpload(c *call) (any, error) {
	slots, err := c.uploads()
	if err != nil {
		return nil, err
	}
	c.dry = true
	r, err := c.pushRequest()
	if err != nil {
		return nil, err
	}
	s, err := c.slot()
	if err != nil {
		return nil, err
	}
	s.PushRequest, s.Who = r, c.actor.Name
	place, err := slots.OpenSlot(c.ctx(), s)
	if err != nil {
		return nil, err
	}
	answer := wire.Slot{ID: place.ID, Expires: wire.Moment(place.Expires)}
	for _, p := range place.Parts {
		answer.Parts = append(answer.Parts, wire.Part{URL: p.URL, Headers: p.Header, Size: p.Size})
	}
	return answer, nil
}

// slot reads what the archive will be.
func (c *call) slot() (uploads.Slot, error) {
	var body wire.SlotBody
	if err := c.read(&body, false); err != nil {
		return uploads.Slot{}, err
	}
	if body.Size == nil || *body.Size < 1 {
		return uploads.Slot{}, wire.Invalid("size= of the archive is required, in bytes")
	}
	s := uploads.Slot{Size: int64(*body.Size), PartSize: int64(*body.Size), Sums: body.Sums}
	if body.PartSize != nil {
		s.PartSize = min(int64(*body.PartSize), s.Size)
	}
	switch {
	case s.Size > c.Limits.Upload:
		return uploads.Slot{}, wire.Invalid("Size of the uploaded archive file exceeds limit (%d bytes)", c.Limits.Upload)
	case s.PartSize < s.Size && s.PartSize < smallestPart:
		return uploads.Slot{}, wire.Invalid("partSize must be at least %d bytes", smallestPart)
	}
	if n := int((s.Size + s.PartSize - 1) / s.PartSize); n > mostParts || n != len(s.Sums) {
		return uploads.Slot{}, wire.Invalid("sha256 must list one checksum for each of %d parts, at most %d; it lists %d", n, mostParts, len(s.Sums))
	}
	for _, sum := range s.Sums {
		if b, err := base64.StdEncoding.DecodeString(sum); err != nil || len(b) != 32 {
			return uploads.Slot{}, wire.Invalid("sha256: %q is no SHA-256 in base64", sum)
		}
	}
	return s, nil
}

// completeUpload says that all parts of an archive are there.
func completeUpload(c *call) (any, error) {
	slots, err := c.uploads()
	if err != nil {
		return nil, err
	}
	c.dry = true
	var body wire.CompleteBody
	if err := c.read(&body, false); err != nil {
		return nil, err
	}
	if err := slots.CloseSlot(c.ctx(), c.actor.Site, c.vars["id"], body.Tags); err != nil {
		return nil, c.foundUpload(err)
	}
	return wire.Outcome{Status: "working"}, nil
}

func (c *call) foundUpload(err error) error { return wire.OrMissing(err, "upload id=%s", c.vars["id"]) }

func getUpload(c *call) (any, error) {
	slots, err := c.uploads()
	if err != nil {
		return nil, err
	}
	o, err := slots.Outcome(c.ctx(), c.actor.Site, c.vars["id"])
	switch {
	case err != nil:
		return nil, c.foundUpload(err)
	case o.Err != nil:
		return wire.Outcome{Status: "failed", Error: &wire.ErrorBody{Message: o.Err.Message, Status: statusOf(o.Err)}}, nil //nolint:nilerr // to tell it is the answer
	case o.Ended:
		p, err := c.pushedProject(o)
		return wire.Outcome{Status: "done", Project: p}, err
	case o.Stored:
		return wire.Outcome{Status: "working"}, nil
	}
	return wire.Outcome{Status: "waiting"}, nil
}

// pushedProject is a project as the push of a revision answers it.
func (c *call) pushedProject(o uploads.Outcome) (*wire.Project, error) {
	p, err := c.Node.Project(c.ctx(), c.actor.Site, o.Project)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", o.Project)
	}
	list, err := c.Node.Revisions(c.ctx(), host.RevisionQuery{Site: c.actor.Site, Project: p.ID, Name: o.Revision, Count: 1})
	if err == nil && len(list) == 0 {
		err = wire.Missing("revision name=%s in project id=%d", o.Revision, p.ID)
	}
	if err != nil {
		return nil, err
	}
	p.Latest = list[0]
	answer := c.project(p)
	return &answer, nil
}

// statusOf is the HTTP status of an error of the host; one without a class is the
// server's own trouble.
func statusOf(e *host.Error) int {
	if e.Code == 0 {
		return http.StatusServiceUnavailable
	}
	return codes[e.Code]
}
