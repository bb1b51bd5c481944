package cloud

import (
	"bytes"
	"net/http"
)

// recorder is an http.ResponseWriter that keeps the response to one request, because Lambda returns only whole
// responses. Like a server, it uses the headers that are set when the response begins, and derives a missing content
// type from the body.
type recorder struct {
	status int // 0: the response has not begun
	header http.Header
	sent   http.Header // the headers as they were when the response began
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter; only the first final status counts.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status, r.sent = status, r.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		if r.header.Get("Content-Type") == "" && r.header.Get("Content-Encoding") == "" {
			r.header.Set("Content-Type", http.DetectContentType(b))
		}
		r.WriteHeader(http.StatusOK)
	}
	return r.body.Write(b)
}

// Flush implements http.Flusher: the output so far is sent with the rest.
func (r *recorder) Flush() { r.end() }

// end begins a response that has no body.
func (r *recorder) end() { r.WriteHeader(http.StatusOK) }
