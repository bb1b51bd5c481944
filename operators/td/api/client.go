// Package api calls the REST API of Treasure Data as far as operators need it: jobs, their results, saved queries, bulk
// loads, databases and tables.
//
// The operators in operators/td use it, with the HTTP client of their task. Each method makes one API call, or two if
// its comment mentions them. A call without a response is retried a few times, unless that could have a second effect;
// the caller uses Temporary to decide whether to retry later.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Client calls the API as one account.
type Client struct {
	HTTP *http.Client
	// Base is the address without a path, "https://api.treasuredata.com".
	Base string
	// Key is the account's key. It is a secret: errors never contain it.
	Key string
	// Renew returns the current key after a response that refused the key, which may have been changed in the meantime;
	// the call is then retried. It may be nil.
	Renew func() (string, error)
	// Pauses are the pauses before retries of a call without a response; nil for no retries.
	Pauses []time.Duration
	// Silence is how long the service may be silent before a call is abandoned; 0 means one minute.
	Silence time.Duration
}

// Limits on a response.
const (
	mostJSON   = 64 << 20
	mostError  = 64 << 10
	mostRest   = 64 << 10 // of a response that is not needed
	longSilent = time.Minute
)

// errSilent ends a call whose service is silent.
var errSilent = errors.New("the service does not respond")

// request is one call.
type request struct {
	method, path string
	form         url.Values // of a POST: its content, or its query if there is also JSON
	json         []byte
	once         bool // repeating it has a second effect
}

// address returns the path with the query parameters.
func (r request) address() string {
	if len(r.form) == 0 || r.method != http.MethodGet && r.json == nil {
		return r.path
	}
	return r.path + "?" + r.form.Encode()
}

func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, form: query}
}

func post(path string, form url.Values) request {
	return request{method: http.MethodPost, path: path, form: form}
}

// pathOf joins the segments of a path, each escaped.
func pathOf(begin string, segments ...string) string {
	for _, s := range segments {
		begin += "/" + url.PathEscape(s)
	}
	return begin
}

// read makes a call and decodes its JSON response.
func (c *Client) read(ctx context.Context, r request, into any) error {
	return c.do(ctx, r, func(body io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(body, mostJSON+1))
		switch {
		case err != nil:
			return err
		case len(text) > mostJSON:
			return &Unreadable{Path: r.path, Why: fmt.Sprintf("it is longer than %d MiB", mostJSON>>20)}
		}
		if err := json.Unmarshal(text, into); err != nil {
			return &Unreadable{Path: r.path, Why: "it is not the expected JSON: " + err.Error()}
		}
		return nil
	})
}

// call makes a call whose response has no content that matters.
func (c *Client) call(ctx context.Context, r request) error {
	return c.do(ctx, r, func(io.Reader) error { return nil })
}

// do makes a call and passes the content of a successful response to use, which is called again if the call is retried.
func (c *Client) do(ctx context.Context, r request, use func(io.Reader) error) error {
	err := c.authorized(ctx, r, use)
	for _, pause := range c.Pauses {
		if err == nil || r.once || !Temporary(err) || After(err) > pause || !sleep(ctx, pause) {
			break
		}
		err = c.authorized(ctx, r, use)
	}
	return err
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// authorized makes a call. A key that is refused is renewed once.
func (c *Client) authorized(ctx context.Context, r request, use func(io.Reader) error) error {
	err := c.once(ctx, r, use)
	var refused *Error
	if c.Renew == nil || !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized && refused.Status != http.StatusForbidden {
		return err
	}
	key, again := c.Renew()
	if again != nil {
		return again
	}
	c.Key = key
	return c.once(ctx, r, use)
}

func (c *Client) once(ctx context.Context, r request, use func(io.Reader) error) error {
	silence := c.Silence
	if silence == 0 {
		silence = longSilent
	}
	watched, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := time.AfterFunc(silence, func() { end(errSilent) })
	defer watch.Stop()
	err := c.send(watched, r, func() { watch.Reset(silence) }, use)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(watched), errSilent) {
		return unanswered(r, fmt.Errorf("%w for %v", errSilent, silence))
	}
	return err
}

// send makes a call; heard is called whenever data arrives from the service.
func (c *Client) send(ctx context.Context, r request, heard func(), use func(io.Reader) error) error {
	h, err := c.build(ctx, r)
	if err != nil {
		return err
	}
	answer, err := c.HTTP.Do(h)
	if err != nil {
		return unanswered(r, err)
	}
	defer answer.Body.Close()
	heard()
	body := &listened{from: answer.Body, heard: heard}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return refusal(r, answer, body)
	}
	err = use(body)
	if body.failed != nil { // the interruption is the reason, no matter what it looked like
		return unanswered(r, body.failed)
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostRest)) // needed to reuse the connection
	}
	return err
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	content, kind := "", ""
	switch {
	case r.json != nil:
		content, kind = string(r.json), "application/json"
	case r.method != http.MethodGet && len(r.form) > 0:
		content, kind = r.form.Encode(), "application/x-www-form-urlencoded"
	}
	h, err := http.NewRequestWithContext(ctx, r.method, c.Base+r.address(), strings.NewReader(content))
	if err != nil {
		return nil, &Invalid{"the endpoint of Treasure Data is not a valid address: " + plain(err)}
	}
	if kind != "" {
		h.Header.Set("Content-Type", kind)
	}
	h.Header.Set("User-Agent", "zerodag")
	h.Header.Set("Authorization", authorization(c.Key))
	return h, nil
}

// authorization returns the header value for a key: a key in the old format gets the format's name as a prefix.
func authorization(key string) string {
	if nakedKey().MatchString(key) {
		return "TD1 " + key
	}
	return key
}

// nakedKey matches a TD1 key without that prefix.
var nakedKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[1-9][0-9]*/)?[a-f0-9]{40}$`) })

// listened reports every part of the content that arrives, and records why the content ended early.
type listened struct {
	from   io.Reader
	heard  func()
	failed error
}

func (l *listened) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if n > 0 {
		l.heard()
	}
	if err != nil && err != io.EOF {
		l.failed = err
	}
	return n, err
}
