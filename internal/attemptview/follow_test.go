package attemptview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/internal/client"
	"zerodag/internal/taskview"
)

// moves is a server with an attempt whose tasks advance each time they are read.
type moves struct {
	at     int
	states [][]string // the states of +w, +w+a, +w+b and +w^failure-alert
}

func (m *moves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/x/") {
		http.NotFound(w, r) // an earlier server release
		return
	}
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

func (m *moves) opened(t *testing.T, wait func(context.Context, time.Duration) error) (Attempts, *bytes.Buffer) {
	t.Helper()
	return openedAt(t, m, wait)
}

func openedAt(t *testing.T, h http.Handler, wait func(context.Context, time.Duration) error) (Attempts, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	connection, err := client.New(client.Options{Endpoint: server.URL, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	var out bytes.Buffer
	return Attempts{connection}, &out
}

// lines shows task changes as lines, as if the output went to a pipe.
func lines(out io.Writer) Watcher {
	return taskview.NewChanges(taskview.Lines{Out: out, Whole: true})
}

// TestWatchLines proves that a watcher in a pipe shows each change of a task once until the attempt ends, and that no
// wait is longer than ten seconds.
func TestWatchLines(t *testing.T) {
	t.Parallel()
	m := &moves{states: [][]string{
		{"planned", "running", "blocked"}, {"planned", "running", "blocked"}, {"planned", "retry_waiting", "blocked"}, {"planned", "running", "blocked"},
		{"planned", "success", "running"}, {"group_error", "success", "error", "success"},
	}}
	var pauses []time.Duration
	r, out := m.opened(t, func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil })
	a, err := r.Follow(t.Context(), "7", lines(out))
	if err != nil || !a.Done {
		t.Fatalf("%+v, %v", a, err)
	}
	want := "+w+a | started\n+w+a | failed, retrying\n+w+a | started\n+w+a | success after 3s\n+w+b | started\n+w+b | error after 3s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if len(pauses) != 5 || pauses[1] != 2*FollowFirst || pauses[2] != FollowFirst {
		t.Errorf("it waited %v", pauses)
	}
}

// TestWatchTree proves that the tree shows the server's data: groups begin with the first task in them, and a task in
// an unknown state counts as not begun.
func TestWatchTree(t *testing.T) {
	t.Parallel()
	one, two := client.ID("10"), client.ID("20")
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	second := func(n int) *time.Time { at := at(n); return &at }
	rows := treeRows([]client.Task{
		{ID: one, FullName: "+w", State: "group_error", UpdatedAt: at(9)},
		{ID: two, ParentID: &one, FullName: "+w+g", State: "success", UpdatedAt: at(7)},
		{ID: "21", ParentID: &two, FullName: "+w+g+\x1ba", State: "success", StartedAt: second(3), UpdatedAt: at(7)},
		{ID: "22", ParentID: &one, FullName: "+w+b", State: "asleep"},
	})
	want := []taskview.Row{
		{Name: "+w", State: engine.GroupError, Started: at(3), Ended: at(9)}, {Name: "+w+g", Parent: 1, State: engine.Success, Started: at(3), Ended: at(7)},
		{Name: `+w+g+\x1ba`, Parent: 2, State: engine.Success, Started: at(3), Ended: at(7)}, {Name: "+w+b", Parent: 1},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

// TestWatchStops proves that an interrupted watch reports the interruption.
func TestWatchStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	m := &moves{states: [][]string{{"planned", "running", "blocked"}, {}}}
	r, out := m.opened(t, func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() })
	if _, err := r.Follow(ctx, "7", lines(out)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// history is a server that serves an attempt's outline, two tasks on each page, and the later changes, one entry at a
// time.
type history struct {
	entries []string // entries[i] has the number i+1
	rounds  int      // entries that have happened
	asked   []string
}

func (h *history) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked = append(h.asked, r.URL.RequestURI())
	done := h.rounds >= len(h.entries)
	switch {
	case strings.HasSuffix(r.URL.Path, "/outline") && r.URL.Query().Get("after") == "0":
		fmt.Fprint(w, `{"seq":1,"tasks":{"id":[1,2],"parent":[0,1],"name":["+w","+a"],"state":["planned","running"],"started":[0,2000],"changed":[1000,2000]},"next":2}`)
	case strings.HasSuffix(r.URL.Path, "/outline"):
		fmt.Fprint(w, `{"seq":2,"tasks":{"id":[3],"parent":[1],"name":["+b"],"state":["blocked"],"started":[0],"changed":[1000]},"next":null}`)
	case strings.HasSuffix(r.URL.Path, "/changes"):
		var after int
		fmt.Sscan(r.URL.Query().Get("after"), &after)
		h.rounds = min(h.rounds+1, len(h.entries))
		list := h.entries[min(after-1, h.rounds):h.rounds]
		fmt.Fprintf(w, `{"changes":[%s],"next":%d,"more":false,"done":%t}`, strings.Join(list, ","), max(after, h.rounds+1), done)
	case strings.HasSuffix(r.URL.Path, "/attempts/7"):
		fmt.Fprintf(w, `{"id":"7","project":{"name":"p"},"workflow":{"name":"w"},"done":%t,"success":true,"status":"success","createdAt":"2024-01-01T00:00:00Z"}`, done)
	default:
		http.Error(w, "nobody asks for this", http.StatusTeapot)
	}
}

// TestWatchReadsWhatChanges proves that all tasks are read once and then only changes: a change that is reported twice,
// or a task that is created later, is shown once.
func TestWatchReadsWhatChanges(t *testing.T) {
	t.Parallel()
	h := &history{entries: []string{
		`{"seq":2,"at":4000,"made":null,"task":[2,3],"state":["success","ready"]}`,
		`{"seq":3,"at":5000,"made":{"id":[3,4],"parent":[1,3],"name":["+b","^sub"],"state":["blocked","running"],"started":[0,5000],"changed":[5000,5000]},"task":[3],"state":["running"]}`,
		`{"seq":4,"at":9000,"made":null,"task":[4,3,1,99],"state":["success","success","success","success"]}`,
	}}
	r, out := openedAt(t, h, func(context.Context, time.Duration) error { return nil })
	a, err := r.Follow(t.Context(), "7", lines(out))
	if err != nil || !a.Success {
		t.Fatalf("%+v, %v", a, err)
	}
	want := "+w+a | success after 2s\n+w+b | started\n+w+b^sub | started\n+w+b^sub | success after 4s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if asked := strings.Join(h.asked, " "); strings.Contains(asked, "/tasks") || strings.Count(asked, "outline") != 2 {
		t.Errorf("it asked for %s", asked)
	}
}

// TestWatchDoesWithoutWrongColumns proves that a response whose lists differ in length changes nothing.
func TestWatchDoesWithoutWrongColumns(t *testing.T) {
	t.Parallel()
	var tasks liveTasks
	tasks.add(&client.Columns{ID: []int64{1, 2}, Parent: []int64{0}})
	tasks.add(&client.Columns{ID: []int64{1}, Parent: []int64{1}, Name: []string{"x"}, State: []string{"running"}, Started: []int64{0}, Changed: []int64{0}})
	tasks.apply(client.Change{Task: []int64{1, 0, -1}, State: []string{"success"}})
	if len(tasks.rows) != 0 {
		t.Errorf("%+v", tasks.rows)
	}
}
