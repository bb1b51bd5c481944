package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/wire"
)

// WithStatus is a response with a status other than 200.
type WithStatus struct {
	Status int
	Body   any
}

// Written means that the handler has already written the response.
type Written struct{}

// Document is a response that is not JSON.
type Document struct {
	Type string
	Text []byte
}

// Download is a response that is copied unchanged from a store.
type Download struct {
	Type string
	io.ReadCloser
	Size int64
}

// Answer writes the result of a handler.
func (c *Call) Answer(v any) {
	switch x := v.(type) {
	case Written:
	case WithStatus:
		c.write(x.Status, x.Body)
	case Document:
		c.writeBytes(http.StatusOK, x.Type, x.Text)
	case Download:
		c.copy(x)
	default:
		c.write(http.StatusOK, v)
	}
}

func (c *Call) copy(d Download) {
	defer d.Close()
	c.W.Header().Set("Content-Type", d.Type)
	if d.Size >= 0 {
		c.W.Header().Set("Content-Length", strconv.FormatInt(d.Size, 10))
	}
	if c.R.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(c.W, d); err != nil {
		// The status was already sent: only a broken connection can show that the response is incomplete.
		panic(http.ErrAbortHandler)
	}
}

// codes maps the host's error classes to HTTP statuses.
var codes = [...]int{host.Invalid: http.StatusBadRequest, host.Missing: http.StatusNotFound,
	host.Conflict: http.StatusConflict, host.TooLarge: http.StatusRequestEntityTooLarge, host.Forbidden: http.StatusForbidden}

// StatusOf returns the HTTP status for a host error; an error without a class is the server's fault.
func StatusOf(e *host.Error) int {
	if e.Code == 0 {
		return http.StatusServiceUnavailable
	}
	return codes[e.Code]
}

// cause explains to callers of any role why the server cannot respond now. It shows no part of the error itself, which
// may name addresses and users; the error is in the log.
func cause(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return " because its disk or database is full"
	case errors.Is(err, syscall.EROFS):
		return " because its disk or database is read-only"
	case errors.Is(err, host.ErrNoDatabase):
		return " because its database does not answer"
	case errors.Is(err, host.ErrNoArchives):
		return " because its store of archives does not answer"
	}
	return ""
}

// AnswerError writes the error as a response.
func (c *Call) AnswerError(err error) {
	var user *host.Error
	var refused *access.Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &user) && user.Existing != nil:
		c.write(http.StatusConflict, wire.AttemptOf(*user.Existing))
	case errors.As(err, &user):
		c.Fail(codes[user.Code], user.Message)
	case errors.As(err, &refused):
		if refused.Status == http.StatusUnauthorized {
			c.challenge()
		}
		c.Fail(refused.Status, refused.Message)
	case errors.Is(err, ErrUnreadable):
		c.W.WriteHeader(http.StatusNotFound)
	case errors.As(err, &tooLarge):
		c.Fail(http.StatusRequestEntityTooLarge, "The body of the request is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	case errors.Is(err, host.ErrNotFound):
		c.Fail(http.StatusNotFound, "Resource does not exist")
	case errors.Is(err, host.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		c.Logger.Warn("request could not be served", "method", c.R.Method, "path", c.R.URL.Path, "error", err)
		c.W.Header().Set("Retry-After", "1")
		c.Fail(http.StatusServiceUnavailable, "The server cannot answer this request now"+cause(err)+": try again")
	case errors.Is(err, context.Canceled): // the client is gone
	default:
		c.Logger.Error("request failed", "method", c.R.Method, "path", c.R.URL.Path, "error", err)
		c.Fail(http.StatusInternalServerError, "internal error")
	}
}

// challenge shows the client how to log in. Pages have their own form and send a header that prevents the browser's
// password dialog.
func (c *Call) challenge() {
	if len(c.Auth.Users) > 0 && c.R.Header.Get(access.PageHeader) == "" {
		c.W.Header().Set("WWW-Authenticate", `Basic realm="zerodag", charset="UTF-8"`)
	}
}

// linger is how long a rejected caller may keep sending.
const linger = 2 * time.Second

// TurnAway responds to a caller who must not call at all. It does not wait for the rest of the request, because a body
// that never comes would occupy the connection.
func (c *Call) TurnAway(err error) {
	if c.R.ContentLength != 0 && http.NewResponseController(c.W).SetReadDeadline(time.Now().Add(linger)) == nil {
		c.W.Header().Set("Connection", "close")
	}
	c.AnswerError(err)
}

// Fail writes an error with its message.
func (c *Call) Fail(status int, message string) {
	c.write(status, wire.ErrorBody{Message: message, Status: status})
}

// write is the only place where responses become JSON.
func (c *Call) write(status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only possible through a mistake in our own types
	}
	c.writeBytes(status, wire.JSONType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (c *Call) writeBytes(status int, contentType string, body []byte) {
	h := c.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Vary", "Accept-Encoding")
	body = compress(h, c.R.Header.Get("Accept-Encoding"), body)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.W.WriteHeader(status)
	_, _ = c.W.Write(body) // the client is gone
}
