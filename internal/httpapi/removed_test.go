package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// These names differ from the methods of the types.
type (
	projectStore = host.Projects
	attemptStore = host.Attempts
)

// aged is a store after retention: it has a revision without its archive, and an attempt without logs.
type aged struct {
	projectStore
	attemptStore
	now time.Time
}

func (aged) Project(context.Context, int64, int64) (host.Project, error) {
	return host.Project{ID: 1, Name: "p", Latest: host.Revision{ID: 3, Name: "r3", Archive: "k"}}, nil
}

func (a aged) Revisions(context.Context, host.RevisionQuery) ([]host.Revision, error) {
	return []host.Revision{{ID: 2, Name: "r2", Archive: "k2", Kept: host.ArchiveState{Removed: a.now}}}, nil
}

func (a aged) Attempt(_ context.Context, _, id int64) (host.Attempt, error) {
	return host.Attempt{ID: id, Done: true, FinishedAt: a.now.Add(-time.Duration(id) * time.Hour)}, nil
}

func (aged) Files(context.Context, host.Attempt, string) ([]host.LogFile, error) { return nil, nil }

func (aged) File(context.Context, host.Attempt, string) (io.ReadCloser, int64, error) {
	return nil, 0, fmt.Errorf("open file: %w", host.ErrNotFound)
}

func (aged) Open(operators.Identity, time.Time) host.TaskLog { return nil }

// TestRemoved proves that a request for an archive or a log that retention has removed gets an error that explains it.
func TestRemoved(t *testing.T) {
	t.Parallel()
	a := aged{now: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
	h := node.New(node.Options{Ports: host.Ports{Projects: a, Attempts: a, Logs: a, Now: func() time.Time { return a.now }, Limits: host.Limits{KeepLogs: 3 * time.Hour}}})
	handler, err := New(Options{Node: h, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/api/projects/1/archive?revision=r2":           "The archive of revision r2 was removed at 2026-02-03T04:05:06Z",
		"/api/logs/4/files/+a@20260203T040506.x.log.gz": "logs are removed 3h0m0s after the end of their attempt",
		"/api/logs/2/files/+a@20260203T040506.x.log.gz": "of session attempt id=2\"",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
