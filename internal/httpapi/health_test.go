package httpapi

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// TestHealthReasons proves that the health check reports in one word why nothing can be written, reveals no path, does
// not test again within a second, and succeeds once writing works again.
func TestHealthReasons(t *testing.T) {
	t.Parallel()
	var fault error
	tries, now := 0, time.Unix(1_700_000_000, 0)
	handler, err := New(Options{Node: node.New(node.Options{Ports: host.Ports{Schedules: broken{}}}), Version: "1", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		Writable: func(context.Context) error { tries++; return fault }})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		fault  error
		status int
		body   string
	}{
		{nil, 200, `{"status":"ok","version":"1"}`},
		{syscall.ENOSPC, 503, `{"status":"unavailable","version":"1","reason":"disk-full"}`},
		{syscall.EROFS, 503, `{"status":"unavailable","version":"1","reason":"read-only"}`},
		{syscall.EIO, 503, `{"status":"unavailable","version":"1","reason":"store"}`},
		{nil, 200, `{"status":"ok","version":"1"}`},
	}
	for _, c := range steps {
		now = now.Add(time.Second)
		if fault = nil; c.fault != nil {
			fault = fmt.Errorf("test a write: %w", &fs.PathError{Op: "write", Path: "/secret/place", Err: c.fault})
		}
		for range 10 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/health", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%v: %d %s, want %d %s", c.fault, w.Code, w.Body, c.status, c.body)
			}
		}
	}
	if tries != len(steps) {
		t.Errorf("it was tried %d times, want %d", tries, len(steps))
	}
}
