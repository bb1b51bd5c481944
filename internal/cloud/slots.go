package cloud

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
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/s3"
)

// Uploads are the slots of a deployment: a httpapi.Uploads, and what the upload function
// does. A slot is three blobs of one name, which a rule of the bucket deletes after a day:
// what is to be done (slots/, before the link is given away), the archive (uploads/, all
// that a link can write) and what became of it (results/, written once: the first answer
// counts).
type Uploads struct {
	Host   *host.Host // its Blobs hold the slots
	Audit  host.Audit
	Store  SlotStore
	Logger *slog.Logger
}

// SlotStore signs what goes past the API.
type SlotStore interface {
	UploadLink(ctx context.Context, key string, size int64, sum string, valid time.Duration) (s3.Upload, error)
	BeginParts(ctx context.Context, key string, parts []s3.Part, valid time.Duration) (string, []s3.Upload, error)
	CompleteParts(ctx context.Context, key, id string, parts []s3.Part, tags []string) error
	Has(ctx context.Context, key string) (bool, error)
}

// Uploads makes the slots of a deployment.
func (e *Engine) Uploads() *Uploads {
	return &Uploads{Host: e.Host, Audit: e.DB, Store: e.Blobs, Logger: e.Logger}
}

const (
	slotFolder   = "slots/"
	uploadFolder = "uploads/" // infra's notification is for this prefix
	resultFolder = "results/"
)

// slotValid is how long an archive may take. It is no longer than the credentials of a
// function live at least.
const slotValid = time.Hour

// slot is what the blob says. What holds it was made by a function that may be older or
// newer than this one: fields are only added.
type slot struct {
	httpapi.Slot
	Parts string `json:",omitempty"` // of the store: the id of an upload in parts
}

// result is what became of a slot: Err, or a revision.
type result struct {
	Project  int64
	Revision string
	Err      *host.Error
}

var slotID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z2-7]{26}$`) })

// OpenSlot signs where an archive goes: see httpapi.Uploads.
func (u *Uploads) OpenSlot(ctx context.Context, asked httpapi.Slot) (httpapi.Place, error) {
	id := strings.ToLower(rand.Text())
	place := httpapi.Place{ID: id, Expires: u.Host.Now().Add(slotValid)}
	s, parts := slot{Slot: asked}, partsOf(asked)
	links := make([]s3.Upload, 1)
	var err error
	if len(parts) == 1 {
		links[0], err = u.Store.UploadLink(ctx, uploadFolder+id, asked.Size, asked.Sums[0], slotValid)
	} else {
		s.Parts, links, err = u.Store.BeginParts(ctx, uploadFolder+id, parts, slotValid)
	}
	if err != nil {
		return place, err
	}
	for i, l := range links {
		place.Parts = append(place.Parts, httpapi.PlacePart{URL: l.URL, Header: l.Header, Size: parts[i].Size})
	}
	return place, u.keep(ctx, slotFolder+id, s)
}

func partsOf(s httpapi.Slot) []s3.Part {
	var parts []s3.Part
	left := s.Size
	for _, sum := range s.Sums {
		n := min(left, s.PartSize)
		parts = append(parts, s3.Part{Size: n, Sum: sum})
		left -= n
	}
	return parts
}

// CloseSlot puts together what came in parts: see httpapi.Uploads.
func (u *Uploads) CloseSlot(ctx context.Context, site int64, id string, tags []string) error {
	s, err := u.slot(ctx, id)
	if err != nil {
		return err
	}
	if s.Site != site {
		return host.ErrNotFound
	}
	if s.Parts == "" {
		return &host.Error{Code: host.Invalid, Message: "The upload has one part: it is complete when that is there"}
	}
	return u.Store.CompleteParts(ctx, uploadFolder+id, s.Parts, partsOf(s.Slot), tags)
}

// Outcome says how far a slot is: see httpapi.Uploads.
func (u *Uploads) Outcome(ctx context.Context, site int64, id string) (httpapi.Outcome, error) {
	s, err := u.slot(ctx, id)
	if err != nil {
		return httpapi.Outcome{}, err
	}
	if s.Site != site {
		return httpapi.Outcome{}, host.ErrNotFound
	}
	var r result
	err = u.load(ctx, resultFolder+id, &r)
	if errors.Is(err, host.ErrNotFound) {
		stored, err := u.Store.Has(ctx, uploadFolder+id)
		return httpapi.Outcome{Stored: stored}, err
	}
	return httpapi.Outcome{Stored: true, Ended: true, Project: r.Project, Revision: r.Revision, Err: r.Err}, err
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
	return u.Host.Blobs.Put(ctx, key, bytes.NewReader(b), int64(len(b)))
}

func (u *Uploads) load(ctx context.Context, key string, v any) error {
	r, _, err := u.Host.Blobs.Open(ctx, key)
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
