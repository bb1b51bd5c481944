// Package uploads lets archives reach a deployment without passing through its API: a caller announces one and gets a
// slot, puts the archive into the blob store through a signed link, and polls for the result.
//
// The API opens slots; the upload function registers the archives put into them. It must never trust the content of the
// store beyond treating it as an archive: the request was announced by a caller that may push, and is stored where only
// this package writes.
package uploads

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// Slot is an announced push: the request and the expected archive.
type Slot struct {
	catalogue.PushRequest
	Who      string // for the audit log
	Origin   host.Origin
	Size     int64    // bytes
	PartSize int64    // bytes of each part but the last
	Sums     []string // SHA-256 of each part, base64
}

// Place is where the parts of an archive can be sent until a given time.
type Place struct {
	ID      string
	Parts   []PlacePart
	Expires time.Time
}

// PlacePart accepts one part by PUT, with these headers.
type PlacePart struct {
	URL    string
	Header map[string]string
	Size   int64
}

// Outcome is the state of a slot: once Ended, it is a revision of a project or an error.
type Outcome struct {
	Stored, Ended bool
	Project       int64
	Revision      string
	Err           *host.Error
}

// Registrar makes revisions from uploaded archives.
type Registrar interface {
	// PushUploaded is catalogue.PushUploaded, which pushes the same upload only once.
	PushUploaded(ctx context.Context, r catalogue.PushRequest, u catalogue.Uploaded) (host.Project, error)
}

// Uploads handles a deployment's slots. A slot is three blobs with the same name, which a bucket rule deletes after a
// day: the request (slots/, written before the link is given away), the archive (uploads/, the only part that a link
// can write) and the result (results/, written once: the first response counts).
type Uploads struct {
	Registrar Registrar
	Blobs     host.Blobs
	Signer    host.Signer
	Audit     host.Audit
	Now       func() time.Time
	Logger    *slog.Logger
}

const (
	slotFolder   = "slots/"
	uploadFolder = "uploads/" // the bucket notification is for this prefix
	resultFolder = "results/"
)

// slotValid is how long an upload may take. It is not longer than the shortest life of a function's credentials.
const slotValid = time.Hour

// slot is the content of the blob. It may have been written by an older or newer function, so fields are only ever
// added.
type slot struct {
	Slot
	Parts string `json:",omitempty"` // of the store: the id of an upload in parts
}

// result is the result of a slot: Err, or a revision.
type result struct {
	Project  int64
	Revision string
	Err      *host.Error
}

var slotID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z2-7]{26}$`) })

// OpenSlot returns a signed place for an archive.
func (u *Uploads) OpenSlot(ctx context.Context, asked Slot) (Place, error) {
	id := strings.ToLower(rand.Text())
	place := Place{ID: id, Expires: u.Now().Add(slotValid)}
	s, parts := slot{Slot: asked}, partsOf(asked)
	links := make([]host.UploadLink, 1)
	var err error
	if len(parts) == 1 {
		links[0], err = u.Signer.UploadLink(ctx, uploadFolder+id, asked.Size, asked.Sums[0], slotValid)
	} else {
		s.Parts, links, err = u.Signer.BeginParts(ctx, uploadFolder+id, parts, slotValid)
	}
	if err != nil {
		return place, err
	}
	for i, l := range links {
		place.Parts = append(place.Parts, PlacePart{URL: l.URL, Header: l.Header, Size: parts[i].Size})
	}
	return place, u.keep(ctx, slotFolder+id, s)
}

func partsOf(s Slot) []host.Part {
	var parts []host.Part
	left := s.Size
	for _, sum := range s.Sums {
		n := min(left, s.PartSize)
		parts = append(parts, host.Part{Size: n, Sum: sum})
		left -= n
	}
	return parts
}

// CloseSlot assembles an archive that was sent in parts.
func (u *Uploads) CloseSlot(ctx context.Context, by Owner, id string, tags []string) error {
	s, err := u.slot(ctx, id)
	if err != nil {
		return err
	}
	if !by.owns(s) {
		return host.ErrNotFound
	}
	if s.Parts == "" {
		return &host.Error{Code: host.Invalid, Message: "The upload has one part: it is complete once that part is stored"}
	}
	return u.Signer.CompleteParts(ctx, uploadFolder+id, s.Parts, partsOf(s.Slot), tags)
}

// Owner names whose slots a caller may use: a site's, or only those of some of its projects.
type Owner struct {
	Site     int64
	Projects []string // none means all
}

func (o Owner) owns(s slot) bool {
	return s.Site == o.Site && (len(o.Projects) == 0 || slices.Contains(o.Projects, s.Project))
}

// Outcome returns the progress of a slot.
func (u *Uploads) Outcome(ctx context.Context, by Owner, id string) (Outcome, error) {
	s, err := u.slot(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !by.owns(s) {
		return Outcome{}, host.ErrNotFound
	}
	var r result
	err = u.load(ctx, resultFolder+id, &r)
	if errors.Is(err, host.ErrNotFound) {
		stored, err := u.Signer.Has(ctx, uploadFolder+id)
		return Outcome{Stored: stored}, err
	}
	return Outcome{Stored: true, Ended: true, Project: r.Project, Revision: r.Revision, Err: r.Err}, err
}

func (u *Uploads) slot(ctx context.Context, id string) (s slot, err error) {
	if !slotID().MatchString(id) {
		return s, host.ErrNotFound
	}
	return s, u.load(ctx, slotFolder+id, &s)
}

func (u *Uploads) keep(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return u.Blobs.Put(ctx, key, bytes.NewReader(b), int64(len(b)))
}

func (u *Uploads) load(ctx context.Context, key string, v any) error {
	r, _, err := u.Blobs.Open(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read %s: %w: %w", key, host.ErrUnavailable, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}
