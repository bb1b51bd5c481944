package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// withStatus is an answer of another status than 200.
type withStatus struct {
	status int
	body   any
}

// written says that the handler wrote the answer itself.
type written struct{}

// document is an answer that is not JSON.
type document struct {
	contentType string
	text        []byte
}

// download is an answer that is copied from a store as it is.
type download struct {
	contentType string
	io.ReadCloser
	size int64
}

func (c *call) answer(v any) {
	switch x := v.(type) {
	case written:
	case withStatus:
		c.write(x.status, x.body)
	case document:
		c.writeBytes(http.StatusOK, x.contentType, x.text)
	case download:
		c.copy(x)
	default:
		c.write(http.StatusOK, v)
	}
}

func (c *call) copy(d download) {
	defer d.Close()
	c.w.Header().Set("Content-Type", d.contentType)
	if d.size >= 0 {
		c.w.Header().Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	if c.r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(c.w, d); err != nil {
		// The status is sent: only a broken connection tells that this is not the whole.
		panic(http.ErrAbortHandler)
	}
}

// codes is what the host's classes of errors are in HTTP.
var codes = [...]int{host.Invalid: http.StatusBadRequest, host.Missing: http.StatusNotFound,
	host.Conflict: http.StatusConflict, host.TooLarge: http.StatusRequestEntityTooLarge, host.Forbidden: http.StatusForbidden}

func (c *call) answerError(err error) {
	var user *host.Error
	var refused *refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &user) && user.Existing != nil:
		c.write(http.StatusConflict, wire.AttemptOf(*user.Existing))
	case errors.As(err, &user):
		c.fail(codes[user.Code], user.Message)
	case errors.As(err, &refused):
		if refused.status == http.StatusUnauthorized {
			c.challenge()
		}
		c.fail(refused.status, refused.message)
	case errors.Is(err, errUnreadable):
		c.w.WriteHeader(http.StatusNotFound)
	case errors.As(err, &tooLarge):
		c.fail(http.StatusRequestEntityTooLarge, "The body of the request is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	case errors.Is(err, host.ErrNotFound):
		c.fail(http.StatusNotFound, "Resource does not exist")
	case errors.Is(err, host.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		c.Logger.Warn("request could not be served now", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		c.w.Header().Set("Retry-After", "1")
		c.fail(http.StatusServiceUnavailable, "The server cannot answer this now: try again")
	case errors.Is(err, context.Canceled): // the client is gone
	default:
		c.Logger.Error("request failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		c.fail(http.StatusInternalServerError, "internal error")
	}
}

// challenge says how callers log in. A page shows a form of its own: without the header that it sends a browser would
// ask for a password itself.
func (c *call) challenge() {
	if len(c.Auth.Users) > 0 && c.r.Header.Get(pageHeader) == "" {
		c.w.Header().Set("WWW-Authenticate", `Basic realm="zerodag", charset="UTF-8"`)
	}
}

// linger is how long a caller who was turned away may go on sending.
const linger = 2 * time.Second

// turnAway answers who must not call at all. The rest of the request is not waited for: a body
// that never comes would hold the connection.
func (c *call) turnAway(err error) {
	if c.r.ContentLength != 0 && http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(linger)) == nil {
		c.w.Header().Set("Connection", "close")
	}
	c.answerError(err)
}

func (c *call) fail(status int, message string) {
	c.write(status, wire.ErrorBody{Message: message, Status: status})
}

// write is the only place where answers become JSON.
func (c *call) write(status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types: a programmer's mistake
	}
	c.writeBytes(status, jsonType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (c *call) writeBytes(status int, contentType string, body []byte) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Vary", "Accept-Encoding")
	body = compress(h, c.r.Header.Get("Accept-Encoding"), body)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the client is gone
}
