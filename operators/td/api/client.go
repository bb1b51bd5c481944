// Package api speaks the REST API of Treasure Data as far as operators need it: jobs, their
// results, saved queries, bulk loads, databases and tables.
//
// The operators in operators/td call it, with the HTTP client of their task. Each method makes one
// call of the API, or two if its comment mentions them. A call without an answer is repeated a few times, unless
// repeating it could do something twice; the caller decides by Temporary whether to try again later.
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
	// Key is the account's key. It is a secret: no error has it.
	Key string
	// Renew gives the key once more after an answer that refused it, as it may have been changed
	// meanwhile; the call is then made a second time. May be nil.
	Renew func() (string, error)
	// Pauses are those between a call without an answer and its repetitions; nil for no repetition.
	Pauses []time.Duration
	// Silence is how long the service may say nothing before a call is given up; 0 is a minute.
	Silence time.Duration
}

// Bounds of what an answer may be.
const (
	mostJSON   = 64 << 20
	mostError  = 64 << 10
	mostRest   = 64 << 10 // of an answer that nobody needs
	longSilent = time.Minute
)

// errSilent ends a call whose service says nothing.
var errSilent = errors.New("the service says nothing")

// request is one call.
type request struct {
	method, path string
	form         url.Values // of a POST: its content, or its query beside json
	json         []byte
	once         bool // doing it twice has another effect than doing it once
}

// address is the path with the parameters that are sent behind it.
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

// read makes a call and reads its JSON answer into a value.
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
			return &Unreadable{Path: r.path, Why: "it is not the JSON that is expected: " + err.Error()}
		}
		return nil
	})
}

// call makes a call whose answer says nothing but that it is done.
func (c *Client) call(ctx context.Context, r request) error {
	return c.do(ctx, r, func(io.Reader) error { return nil })
}

// do makes a call and hands the content of a good answer to use, which is called again if the call is repeated.
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

// send makes a call; heard is called whenever the service says something.
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
	if body.failed != nil { // what was cut off is the reason, whatever it looked like
		return unanswered(r, body.failed)
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostRest)) // a connection is used again after the end alone
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
		return nil, &Invalid{"the endpoint of Treasure Data is no address: " + plain(err)}
	}
	if kind != "" {
		h.Header.Set("Content-Type", kind)
	}
	h.Header.Set("User-Agent", "zerodag")
	h.Header.Set("Authorization", authorization(c.Key))
	return h, nil
}

// authorization is what a key is sent as: one of the old form has the name of its form before it.
func authorization(key string) string {
	if nakedKey().MatchString(key) {
		return "TD1 " + key
	}
	return key
}

// nakedKey is a key of the form TD1 without that word.
var nakedKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[1-9][0-9]*/)?[a-f0-9]{40}$`) })

// listened tells of every part of a content that arrives, and remembers why one ended early.
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
