package projects

import (
	"encoding/base64"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/uploads"
)

// Limits on parts: the store's own, and the number that one response can contain.
const (
	smallestPart = 5 << 20
	mostParts    = 1000
)

// slotsOf returns the provider of slots; without one the paths do not exist.
func slotsOf(c *endpoint.Call) (endpoint.Uploads, error) {
	if c.Uploads == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server does not support uploads: push with PUT /api/projects"}
	}
	return c.Uploads, nil
}

// postUpload opens a slot. Nothing changes yet: the push is recorded when it happens.
func postUpload(c *endpoint.Call) (any, error) {
	slots, err := slotsOf(c)
	if err != nil {
		return nil, err
	}
	c.Dry = true
	r, err := pushRequest(c)
	if err != nil {
		return nil, err
	}
	s, err := slotAsked(c)
	if err != nil {
		return nil, err
	}
	s.PushRequest, s.Who, s.Origin = r, c.Actor.Name, c.Origin()
	place, err := slots.OpenSlot(c.Ctx(), s)
	if err != nil {
		return nil, err
	}
	answer := wire.Slot{ID: place.ID, Expires: wire.Moment(place.Expires)}
	for _, p := range place.Parts {
		answer.Parts = append(answer.Parts, wire.Part{URL: p.URL, Headers: p.Header, Size: p.Size})
	}
	return answer, nil
}

// slotAsked reads the archive's description.
func slotAsked(c *endpoint.Call) (uploads.Slot, error) {
	var body wire.SlotBody
	if err := c.Read(&body, false); err != nil {
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
			return uploads.Slot{}, wire.Invalid("sha256: %q is not a SHA-256 checksum in base64", sum)
		}
	}
	return s, nil
}

// completeUpload marks an archive as complete: all its parts are uploaded.
func completeUpload(c *endpoint.Call) (any, error) {
	slots, err := slotsOf(c)
	if err != nil {
		return nil, err
	}
	c.Dry = true
	var body wire.CompleteBody
	if err := c.Read(&body, false); err != nil {
		return nil, err
	}
	if err := slots.CloseSlot(c.Ctx(), uploader(c), c.Vars["id"], body.Tags); err != nil {
		return nil, foundUpload(c, err)
	}
	return wire.Outcome{Status: "working"}, nil
}

func uploader(c *endpoint.Call) uploads.Owner {
	return uploads.Owner{Site: c.Actor.Site, Projects: c.Actor.Projects}
}

func foundUpload(c *endpoint.Call, err error) error {
	return wire.OrMissing(err, "upload id=%s", c.Vars["id"])
}

func getUpload(c *endpoint.Call) (any, error) {
	slots, err := slotsOf(c)
	if err != nil {
		return nil, err
	}
	o, err := slots.Outcome(c.Ctx(), uploader(c), c.Vars["id"])
	switch {
	case err != nil:
		return nil, foundUpload(c, err)
	case o.Err != nil:
		return wire.Outcome{Status: "failed", Error: &wire.ErrorBody{Message: o.Err.Message, Status: endpoint.StatusOf(o.Err)}}, nil //nolint:nilerr // the response reports the error
	case o.Ended:
		p, err := pushedProject(c, o)
		return wire.Outcome{Status: "done", Project: p}, err
	case o.Stored:
		return wire.Outcome{Status: "working"}, nil
	}
	return wire.Outcome{Status: "waiting"}, nil
}

// pushedProject returns a project as a push of a revision returns it.
func pushedProject(c *endpoint.Call, o uploads.Outcome) (*wire.Project, error) {
	p, err := c.Node.Project(c.Ctx(), c.Actor.Site, o.Project)
	if err != nil {
		return nil, wire.OrMissing(err, "project id=%d", o.Project)
	}
	if p.Latest, err = c.RevisionNamed(p.ID, o.Revision); err != nil {
		return nil, err
	}
	answer := shownProject(c, p)
	return &answer, nil
}
