package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/internal/client"
)

// moves is a server with an attempt whose tasks have moved on each time that they are asked for.
type moves struct {
	at     int
	states [][]string // of +w, +w+a, +w+b, +w^failure-alert
}

func (m *moves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := m.states[min(m.at, len(m.states)-1)]
	if !strings.HasSuffix(r.URL.Path, "/tasks") {
		done := m.at >= len(m.states)-1
		fmt.Fprintf(w, `{"id":"7","project":{"name":"p"},"workflow":{"name":"w"},"done":%t,"success":false,"status":"error","createdAt":"2024-01-01T00:00:00Z"}`, done)
		return
	}
	m.at++
	var list []string
	for i, name := range []string{"+w", "+w+a", "+w+b", "+w^failure-alert"}[:len(now)] {
		parent, began := `"1"`, `"2024-01-01T00:00:02Z"`
		if i == 0 {
			parent, began = "null", "null"
		}
		if now[i] == "blocked" {
			began = "null"
		}
		list = append(list, fmt.Sprintf(`{"id":"%d","fullName":%q,"parentId":%s,"state":%q,"startedAt":%s,"updatedAt":"2024-01-01T00:00:05Z","error":{}}`, i+1, name, parent, now[i], began))
	}
	fmt.Fprintf(w, `{"tasks":[%s]}`, strings.Join(list, ","))
}

func (m *moves) opened(t *testing.T, wait func(context.Context, time.Duration) error) (*remote, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	connection, err := client.New(client.Options{Endpoint: server.URL, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	var out bytes.Buffer
	return &remote{streams: streams{out: &out, err: &out}, format: textForm, Client: connection}, &out
}

// TestWatchLines proves that who watches in a pipe is told each change of a task once, to the end of the attempt, and
// that nothing is waited for longer than ten seconds.
func TestWatchLines(t *testing.T) {
	t.Parallel()
	m := &moves{states: [][]string{
		{"planned", "running", "blocked"}, {"planned", "running", "blocked"}, {"planned", "retry_waiting", "blocked"}, {"planned", "running", "blocked"},
		{"planned", "success", "running"}, {"group_error", "success", "error", "success"},
	}}
	var pauses []time.Duration
	r, out := m.opened(t, func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil })
	a, err := r.followTasks(t.Context(), "7", r.newWatcher())
	if err != nil || !a.Done {
		t.Fatalf("%+v, %v", a, err)
	}
	want := "+w+a | started\n+w+a | failed, and is tried again\n+w+a | started\n+w+a | success after 3s\n+w+b | started\n+w+b | error after 3s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if len(pauses) != 5 || pauses[1] != 2*followFirst || pauses[2] != followFirst {
		t.Errorf("it waited %v", pauses)
	}
}

// TestWatchTree proves that the tree has what the server tells: groups begin with the first task in them, and a state that
// this program does not know has not begun.
func TestWatchTree(t *testing.T) {
	t.Parallel()
	one, two := client.ID("10"), client.ID("20")
	second := func(n int) *time.Time { at := at(n); return &at }
	rows := treeRows([]client.Task{
		{ID: one, FullName: "+w", State: "group_error", UpdatedAt: at(9)},
		{ID: two, ParentID: &one, FullName: "+w+g", State: "success", UpdatedAt: at(7)},
		{ID: "21", ParentID: &two, FullName: "+w+g+\x1ba", State: "success", StartedAt: second(3), UpdatedAt: at(7)},
		{ID: "22", ParentID: &one, FullName: "+w+b", State: "asleep"},
	})
	want := []treeRow{row("+w", 0, engine.GroupError, 3, 9), row("+w+g", 1, engine.Success, 3, 7), row(`+w+g+\x1ba`, 2, engine.Success, 3, 7), row("+w+b", 1, engine.Blocked, -1, -1)}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(treeRow{})); diff != "" {
		t.Error(diff)
	}
	v := &treeView{size: func() (int, int) { return 80, 24 }, rows: map[any][]treeRow{}, took: wholeDuration}
	v.show("7", rows[:1])
	v.show("7", rows)
	picture := strings.Join(v.picture(at(20), 80, 20, true), "\n")
	if picture != "✘ +w 6s\n  ✔ +g 4s\n    ✔ +\\x1ba 4s\n  · +b" {
		t.Errorf("the tree:\n%s", picture)
	}
}

// TestWatchStops proves that whoever interrupts it learns so.
func TestWatchStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	m := &moves{states: [][]string{{"planned", "running", "blocked"}, {}}}
	r, _ := m.opened(t, func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() })
	if _, err := r.followTasks(ctx, "7", r.newWatcher()); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
