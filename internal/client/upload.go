package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Sizes of uploads: an archive larger than the first size is uploaded in parts of the second size, several at the same
// time.
const (
	onePart  = 100_000_000
	partSize = 16 << 20
	atOnce   = 4
)

// longestCheck is how long to wait for the result of an uploaded archive: longer than the server takes for the largest
// archive, including retries.
const longestCheck = 15 * time.Minute

// place is the destination of an archive's parts.
type place struct {
	ID    string
	Parts []struct {
		URL     string
		Headers map[string]string
		Size    int64
	}
}

// pushBySlot uploads an archive to the store and waits for the server to process it.
func (c *Client) pushBySlot(ctx context.Context, q url.Values, archive io.ReaderAt, size int64) (Project, error) {
	each := size
	if size > onePart {
		each = partSize
	}
	sums, err := checksums(ctx, archive, size, each)
	if err != nil {
		return Project{}, err
	}
	var to place
	body := struct {
		Size     int64    `json:"size"`
		PartSize int64    `json:"partSize"`
		SHA256   []string `json:"sha256"`
	}{size, each, sums}
	if err := c.send(ctx, http.MethodPost, "/api/uploads", q, body, &to); err != nil {
		return Project{}, err
	}
	tags, err := c.putParts(ctx, to, archive, size)
	if err != nil {
		return Project{}, err
	}
	if len(tags) > 1 {
		err := c.again(ctx, func() error {
			return c.send(ctx, http.MethodPost, path("api", "uploads", to.ID, "complete"), nil, map[string][]string{"tags": tags}, nil)
		})
		if err != nil {
			return Project{}, err
		}
	}
	return c.pushed(ctx, to.ID)
}

// checksums returns the SHA-256 of each part in base64.
func checksums(ctx context.Context, archive io.ReaderAt, size, each int64) ([]string, error) {
	var sums []string
	for at := int64(0); at < size; at += each {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(archive, at, min(each, size-at))); err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sums = append(sums, base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	}
	return sums, nil
}

// putParts uploads the parts, several at a time, and returns the identifiers that the store assigned to them. The first
// failure ends the upload.
func (c *Client) putParts(ctx context.Context, to place, archive io.ReaderAt, size int64) ([]string, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	tags, done, turns := make([]string, len(to.Parts)), &atomic.Int64{}, make(chan struct{}, atOnce)
	var running sync.WaitGroup
	at := int64(0)
	for i, p := range to.Parts {
		turns <- struct{}{}
		from := at
		at += p.Size
		running.Go(func() {
			defer func() { <-turns }()
			err := c.again(ctx, func() (err error) {
				part := &partReader{SectionReader: io.NewSectionReader(archive, from, p.Size), all: done, total: size, tell: c.Progress}
				if tags[i], err = c.putPart(ctx, p.URL, p.Headers, part); err != nil {
					part.back()
				}
				return err
			})
			if err != nil {
				fail(err)
			}
		})
	}
	running.Wait()
	return tags, context.Cause(ctx)
}

// partReader reads a part and reports the progress of all parts.
type partReader struct {
	*io.SectionReader
	read  atomic.Int64 // the transport may keep reading for a moment after a failure
	all   *atomic.Int64
	total int64
	tell  func(done, total int64)
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.SectionReader.Read(b)
	p.read.Add(int64(n))
	if done := p.all.Add(int64(n)); p.tell != nil {
		p.tell(done, p.total)
	}
	return n, err
}

// back subtracts the bytes that were counted, because the part is sent again.
func (p *partReader) back() { p.all.Add(-p.read.Swap(0)) }

// putPart uploads one part, without our headers: the store must see only the link.
func (c *Client) putPart(ctx context.Context, link string, headers map[string]string, part *partReader) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, link, part)
	if err != nil {
		return "", fmt.Errorf("create request: %w", err)
	}
	r.ContentLength = part.Size()
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return "", fmt.Errorf("upload archive to %s: %w", r.URL.Host, errors.Unwrap(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		_, err := io.Copy(io.Discard, answer.Body)
		return answer.Header.Get("ETag"), err
	}
	refused := statusError(answer)
	if text := refused.Error(); strings.Contains(text, "<Code>RequestTimeout</Code>") { // a 400 caused by the network
		return "", fmt.Errorf("upload archive to %s: %s", r.URL.Host, text)
	}
	return "", fmt.Errorf("upload archive to %s: %w", r.URL.Host, refused)
}

// again makes requests, repeating them if necessary.
func (c *transport) again(ctx context.Context, do func() error) error {
	_, err := c.repeat(ctx, func() (*http.Response, error) { return nil, do() })
	return err
}

// pushed waits for the result of an upload. A faulty archive causes the same error as one that is sent to the server
// itself.
func (c *Client) pushed(ctx context.Context, id string) (Project, error) {
	waited := time.Duration(0)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longestWait) {
		var o struct {
			Status  string
			Project Project
			Error   json.RawMessage
		}
		if err := c.get(ctx, path("api", "uploads", id), nil, &o); err != nil {
			return Project{}, err
		}
		switch o.Status {
		case "done":
			return o.Project, nil
		case "failed":
			var status struct{ Status int }
			err := json.Unmarshal(o.Error, &status)
			return Project{}, errors.Join(err, &StatusError{Status: status.Status, Body: string(o.Error)})
		}
		if waited += pause; waited > longestCheck {
			return Project{}, fmt.Errorf("the archive was uploaded, but %s reports no outcome: check whether the revision exists, and read the log of the server's upload function", c.base)
		}
		if err := c.Wait(ctx, pause); err != nil {
			return Project{}, err
		}
	}
}
