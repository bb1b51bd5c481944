package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

type scheduleStore = host.Schedules // a name that differs from its methods

// broken answers every query about schedules with an error.
type broken struct {
	scheduleStore
	err error
}

func (b broken) Schedule(context.Context, int64, int64) (host.Schedule, error) {
	return host.Schedule{}, b.err
}

func (b broken) NextDue(context.Context) (time.Time, error) { return time.Time{}, b.err }

// TestTrouble checks the responses to clients if the store does not work, if an unknown error occurs and if a handler
// panics, and that the log contains more details, but only once.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		err        error
		status     int
		body       string
		logged     int
	}{
		{"unavailable", "/api/schedules/1", fmt.Errorf("read: %w", host.ErrUnavailable), 503, `{"message":"The server cannot answer this request now: try again","status":503}`, 1},
		{"full", "/api/schedules/1", fmt.Errorf("write /srv/secret: %w: %w", host.ErrUnavailable, syscall.ENOSPC), 503, `{"message":"The server cannot answer this request now because its disk or database is full: try again","status":503}`, 1},
		{"read-only", "/api/schedules/1", fmt.Errorf("write /srv/secret: %w: %w", host.ErrUnavailable, syscall.EROFS), 503, `{"message":"The server cannot answer this request now because its disk or database is read-only: try again","status":503}`, 1},
		{"no database", "/api/schedules/1", fmt.Errorf("%w: user=digdag: dial tcp 10.1.2.3:5432", host.ErrNoDatabase), 503, `{"message":"The server cannot answer this request now because its database does not answer: try again","status":503}`, 1},
		{"no archives", "/api/schedules/1", fmt.Errorf("%w: dial tcp 10.1.2.3:9000", host.ErrNoArchives), 503, `{"message":"The server cannot answer this request now because its store of archives does not answer: try again","status":503}`, 1},
		{"too late", "/api/schedules/1", context.DeadlineExceeded, 503, `{"message":"The server cannot answer this request now: try again","status":503}`, 1},
		{"unknown", "/api/schedules/1", errors.New("disk on fire"), 500, `{"message":"internal error","status":500}`, 1},
		{"missing", "/api/schedules/1", host.ErrNotFound, 404, `{"message":"Resource does not exist: schedule id=1","status":404}`, 0},
		{"user's mistake", "/api/schedules/1", &host.Error{Code: host.TooLarge, Message: "too much"}, 413, `{"message":"too much","status":413}`, 0},
		{"panic", "/api/projects/1", nil, 500, `{"message":"internal error","status":500}`, 1},
		{"unhealthy", "/api/health", host.ErrUnavailable, 503, `{"status":"unavailable","version":"1","reason":"store"}`, 1},
		{"healthy", "/api/health", nil, 200, `{"status":"ok","version":"1"}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := node.New(node.Options{Ports: host.Ports{Schedules: broken{err: c.err}}}) // without projects, so that a query for one panics
			handler, err := New(Options{Node: h, Version: "1", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.body)
			}
			if n := strings.Count(log.String(), "level="); n != c.logged {
				t.Errorf("logged %d times, want %d: %s", n, c.logged, &log)
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (c.status == http.StatusServiceUnavailable) {
				t.Errorf("Retry-After: %q", retry)
			}
		})
	}
}

// TestWrongOptions proves that an invalid version is refused at once.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{UpgradeIfOlder: "x"}, {IncompatibleIfOlder: "1..2"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%q %q is taken", o.UpgradeIfOlder, o.IncompatibleIfOlder)
		}
	}
}
