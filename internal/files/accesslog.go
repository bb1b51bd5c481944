package files

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// AccessLog records every request, in one file per day.
type AccessLog struct {
	folder string
	form   string

	mu   sync.Mutex
	day  string
	file *os.File
}

// NewAccessLog creates an access log in a folder; form is "json", "combined" or "common".
func NewAccessLog(folder, form string) (*AccessLog, error) {
	if err := makePrivate(folder); err != nil {
		return nil, fmt.Errorf("open access log: %w", err)
	}
	return &AccessLog{folder: folder, form: form}, nil
}

// Handler records the requests that h answers. If the log cannot be written, requests still succeed.
func (l *AccessLog) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answered{ResponseWriter: w, status: http.StatusOK}
		began := time.Now()
		h.ServeHTTP(a, r)
		l.note(began, time.Since(began), r, a)
	})
}

// answered records the response.
type answered struct {
	http.ResponseWriter
	status int
	size   int64
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.size += int64(n)
	return n, err
}

// Unwrap lets the handler flush.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (l *AccessLog) note(at time.Time, took time.Duration, r *http.Request, a *answered) {
	line := l.line(at, took, r, a)
	l.mu.Lock()
	defer l.mu.Unlock()
	if day := at.Format("2006-01-02"); day != l.day || l.file == nil {
		if l.file != nil {
			l.file.Close()
		}
		var err error
		if l.file, err = os.OpenFile(filepath.Join(l.folder, "access."+day+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, privateFile); err != nil {
			l.file = nil
			return
		}
		l.day = day
	}
	l.file.WriteString(line) //nolint:errcheck // requests do not fail if their line is lost
}

func (l *AccessLog) line(at time.Time, took time.Duration, r *http.Request, a *answered) string {
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	user, _, _ := r.BasicAuth()
	if l.form == "json" {
		text, _ := json.Marshal(map[string]any{"time": at.UTC().Format(time.RFC3339Nano), "remote": remote, "user": user, "method": r.Method,
			"uri": r.RequestURI, "protocol": r.Proto, "status": a.status, "size": a.size, "took": took.Seconds(),
			"referer": r.Referer(), "agent": r.UserAgent()}) // strings and numbers always encode
		return printable(string(text)) + "\n"
	}
	if user == "" {
		user = "-"
	}
	line := fmt.Sprintf("%s - %q [%s] %q %d %d", remote, user, at.Format("02/Jan/2006:15:04:05 -0700"), r.Method+" "+r.RequestURI+" "+r.Proto, a.status, a.size)
	if l.form == "combined" {
		line += fmt.Sprintf(" %q %q", r.Referer(), r.UserAgent())
	}
	return line + "\n"
}

// printable escapes characters that JSON permits but terminals interpret.
func printable(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if obeyed(c) {
			fmt.Fprintf(&b, "\\u%04x", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func obeyed(c rune) bool { return c >= 0x7f && c < 0xa0 }

// Close ends the log.
func (l *AccessLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
