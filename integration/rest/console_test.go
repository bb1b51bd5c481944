package rest_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// various is a workflow with groups, tasks generated at run time, a group that is retried, and a failure.
const various = `_export: {greeting: hello}
+side:
  _parallel: true
  +a: {echo>: "${greeting}", _export: {own: 1}}
  +b: {echo>: b}
+each:
  for_each>: {n: [1, 2, 3]}
  _do: {+say: {echo>: "${n}"}}
+again:
  _retry: 1
  +bad: {fail>: "it cannot be done"}
+never: {echo>: never}
`

// columns holds the lists of an outline, or of a change's effects.
type columns struct {
	ID, Parent, Upstreams, Runs []int
	Name, State                 []string
	Group, Resumed              []bool
	Started, Changed, Retry     []int64
	Sets                        [][]int
}

// rows holds tasks by number: full name, parent, upstreams, state and runs, as text.
type rows map[int]row

type row struct {
	name, state  string
	parent, runs int
	upstreams    []int
}

// lay adds the tasks of columns.
func (r rows) lay(l columns) {
	for i, id := range l.ID {
		r[id] = row{r[l.Parent[i]].name + l.Name[i], l.State[i], l.Parent[i], l.Runs[i], l.Sets[l.Upstreams[i]]}
	}
}

type changed struct {
	Seq   int
	At    int64
	Made  *columns
	Task  []int
	State []string
	Runs  []int
}

// fold applies a change.
func (r rows) fold(ch changed) {
	if ch.Made != nil {
		r.lay(*ch.Made)
	}
	for i, id := range ch.Task {
		t := r[id]
		t.state, t.runs = ch.State[i], ch.Runs[i]
		r[id] = t
	}
}

// get reads a response into v.
func (c caller) get(path string, v any) {
	c.t.Helper()
	a := c.call(http.MethodGet, path, nil)
	if a.status != http.StatusOK || json.Unmarshal(a.content, v) != nil {
		c.t.Fatalf("%s: %d %s", path, a.status, a.content)
	}
}

// outline reads all pages.
func (c caller) outline(attempt string) (rows, *int) {
	c.t.Helper()
	all := rows{}
	for after := 0; ; {
		var o struct {
			Seq, Next *int
			Tasks     columns
		}
		c.get(fmt.Sprintf("/api/x/attempts/%s/outline?after=%d", attempt, after), &o)
		all.lay(o.Tasks)
		if o.Next == nil {
			return all, o.Seq
		}
		after = *o.Next
	}
}

// changes reads all pages after an entry.
func (c caller) changes(attempt string, after int) (list []changed, done bool) {
	c.t.Helper()
	for {
		var page struct {
			Changes    []changed
			Next       int
			More, Done bool
		}
		c.get(fmt.Sprintf("/api/x/attempts/%s/changes?after=%d", attempt, after), &page)
		list, after = append(list, page.Changes...), page.Next
		if !page.More {
			return list, page.Done
		}
	}
}

// TestOutlineAndChanges checks that the columns of an outline agree with the list of tasks, that the changes of an
// attempt, applied to an empty list, lead to it entry by entry as in the history, and that a stream sends the same
// changes.
func TestOutlineAndChanges(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": various}))
	attempt := c.run("p", "wf")
	got, seq := c.outline(attempt)
	if seq != nil {
		t.Errorf("of an attempt that is over the outline is as of entry %d", *seq)
	}
	want := rows{}
	for _, x := range c.must(http.MethodGet, "/api/attempts/"+attempt+"/tasks", nil)["tasks"].([]any) {
		task := x.(object)
		r := row{name: task["fullName"].(string), state: task["state"].(string), upstreams: []int{}}
		fmt.Sscan(fmt.Sprint(task["parentId"]), &r.parent)
		for _, u := range task["upstreams"].([]any) {
			r.upstreams = append(r.upstreams, number(u))
		}
		r.runs = got[number(task["id"])].runs // not in the list
		want[number(task["id"])] = r
	}
	same := gocmp.AllowUnexported(row{})
	if d := gocmp.Diff(want, got, same); d != "" || len(want) < 12 {
		t.Errorf("%d tasks:\n%s", len(want), d)
	}
	list, done := c.changes(attempt, 0)
	folded := rows{}
	for i, ch := range list {
		folded.fold(ch)
		past := c.must(http.MethodGet, fmt.Sprintf("/api/attempts/%s/history/%d/tasks", attempt, i+1), nil)["tasks"].([]any)
		for _, x := range past {
			if id := number(x.(object)["id"]); ch.Seq != i+1 || folded[id].state != x.(object)["state"] || len(past) != len(folded) {
				t.Errorf("after change %d (entry %d) task %d is %v of %d tasks, want %v of %d", i, ch.Seq, id, folded[id], len(folded), x, len(past))
			}
		}
	}
	if d := gocmp.Diff(got, folded, same); d != "" || !done {
		t.Errorf("done %v, folded:\n%s", done, d)
	}
	half := len(list) / 2
	if rest, done := c.changes(attempt, half); !done || gocmp.Diff(list[half:], rest) != "" {
		t.Errorf("after %d: done %v\n%s", half, done, gocmp.Diff(list[half:], rest))
	}
	s := c.stream("/api/x/attempts/"+attempt+"/changes", fmt.Sprint(half))
	sent := []changed{}
	for {
		e, more := s.next()
		if !more || e.name == "end" {
			break
		}
		sent = append(sent, convert[changed](t, e.data))
	}
	if d := gocmp.Diff(list[half:], sent); d != "" {
		t.Errorf("stream: %s", d)
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/api/x/attempts/"+attempt+"/changes", nil)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Last-Event-ID", "end")
	if a := c.send(request); a.status != http.StatusNoContent {
		t.Errorf("behind the end: %d %s", a.status, a.content)
	}
	for path, status := range map[string]int{"/outline?after=x": 404, "/changes?after=-1": 400, "/changes?after=x": 404, "/tasks/0": 404, "/tasks/99": 404, "/tasks/x": 404} {
		if a := c.call(http.MethodGet, "/api/x/attempts/"+attempt+path, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
	for _, path := range []string{"/outline", "/changes", "/tasks/1"} {
		if a := c.call(http.MethodGet, "/api/x/attempts/999999"+path, nil); a.status != http.StatusNotFound {
			t.Errorf("of another attempt, %s: %d", path, a.status)
		}
	}
}

// TestChangesWhileItRuns checks that the outline of a running attempt and the changes after it lead to its final state.
func TestChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	c := open(t)
	goOn := make(chan struct{})
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(peer.Close)
	c.push(archive(map[string]string{"wf.dig": "+a: {echo>: a}\n+b: {http>: " + peer.URL + "}\n+c: {loop>: 2, _do: {echo>: c}}\n"}))
	attempt := c.start("p", "wf", "2024-01-02T00:00:00Z")
	var before rows
	var seq *int
	for slices.IndexFunc(before.list(), func(r row) bool { return r.name == "+wf+b" && r.state == "running" }) < 0 {
		if before, seq = c.outline(attempt); seq == nil && len(before) > 0 {
			t.Fatalf("it is over: %v", before)
		}
	}
	if _, done := c.changes(attempt, *seq); done {
		t.Error("it is said to be over")
	}
	close(goOn)
	c.ended(attempt)
	list, done := c.changes(attempt, *seq)
	for _, ch := range list {
		before.fold(ch)
	}
	after, _ := c.outline(attempt)
	if d := gocmp.Diff(after, before, gocmp.AllowUnexported(row{})); d != "" || !done || len(list) == 0 {
		t.Errorf("done %v after %d changes:\n%s", done, len(list), d)
	}
}

func (r rows) list() (list []row) {
	for _, x := range r {
		list = append(list, x)
	}
	return list
}

// TestTaskAndItsLog checks that a task is shown with its parameters and the files of its log, whose text can be read
// from any position.
func TestTaskAndItsLog(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": various}))
	attempt := c.run("p", "wf")
	all, _ := c.outline(attempt)
	idOf := func(name string) (id int) {
		for i, r := range all {
			if r.name == name {
				id = max(id, i)
			}
		}
		return id
	}
	a := c.must(http.MethodGet, fmt.Sprintf("/api/x/attempts/%s/tasks/%d", attempt, idOf("+wf+side+a")), nil)
	params, _ := a["params"].(object)
	if params["greeting"] != "hello" || params["own"] != 1.0 || a["task"].(object)["state"] != "success" {
		t.Errorf("got %v", a)
	}
	files := a["logs"].([]any)
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	path := "/api/x/logs/" + attempt + "/files/" + url.PathEscape(files[0].(object)["fileName"].(string))
	whole := c.must(http.MethodGet, path, nil)
	text := whole["text"].(string)
	if !strings.Contains(text, "hello\n") || whole["more"] != false || whole["done"] != true || number(whole["next"]) != len(text) {
		t.Errorf("got %v", whole)
	}
	if tail := c.must(http.MethodGet, path+"?after=7", nil); tail["text"] != text[7:] || tail["next"] != whole["next"] {
		t.Errorf("got %v", tail)
	}
	if none := c.must(http.MethodGet, path+"?after="+fmt.Sprint(whole["next"]), nil); none["text"] != "" || none["next"] != whole["next"] {
		t.Errorf("got %v", none)
	}
	for _, after := range []int{0, 7, len(text), len(text) + 5} {
		for _, encoding := range []string{"identity", "gzip"} {
			a := c.request(http.MethodGet, path+"?after="+fmt.Sprint(after), nil, "Accept", "text/plain", "Accept-Encoding", encoding)
			got := a.content
			if a.header.Get("Content-Encoding") == "gzip" {
				z, err := gzip.NewReader(bytes.NewReader(got))
				if err != nil {
					t.Fatal(err)
				}
				if got, err = io.ReadAll(z); err != nil {
					t.Fatal(err)
				}
			}
			if string(got) != text[min(after, len(text)):] || a.status != http.StatusOK {
				t.Errorf("text after %d, %s: %d %q", after, encoding, a.status, got)
			}
		}
	}
	never := c.must(http.MethodGet, fmt.Sprintf("/api/x/attempts/%s/tasks/%d", attempt, idOf("+wf+never")), nil)
	if never["params"] != nil || len(never["logs"].([]any)) > 0 {
		t.Errorf("got %v", never)
	}
	failures := c.must(http.MethodGet, "/api/x/attempts/"+attempt+"/outline", nil)["errors"].([]any)
	if len(failures) != 2 || failures[1].(object)["message"] != "it cannot be done" || number(failures[1].(object)["task"]) != idOf("+wf+again+bad") {
		t.Errorf("errors: %v", failures)
	}
	for path, status := range map[string]int{path + "?after=-1": 400, path + "?after=x": 404, "/api/x/logs/" + attempt + "/files/nosuch.log.gz": 404,
		"/api/x/logs/" + attempt + "/files/..%2F..%2Fdb": 400} {
		if a := c.call(http.MethodGet, path, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
}

// TestCause checks that a failed attempt has its first failed task, that task's error, and the last lines that it
// printed, without the server's lines; and that a successful attempt has no cause.
func TestCause(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{
		"bad.dig":  "+a:\n  sh>: for n in $(seq 1 30); do echo line $n; done; exit 7\n+b:\n  echo>: never\n",
		"good.dig": "+a:\n  echo>: a\n",
	}))
	bad := c.must(http.MethodGet, "/api/x/attempts/"+c.run("p", "bad")+"/cause", nil)
	lines, _ := bad["lines"].([]any)
	if len(lines) != 10 || lines[0] != "line 21" || lines[9] != "line 30" {
		t.Errorf("lines: %v", lines)
	}
	if message, _ := bad["message"].(string); bad["task"] != "+bad+a" || !strings.Contains(message, "code 7") {
		t.Errorf("got %v", bad)
	}
	good := c.must(http.MethodGet, "/api/x/attempts/"+c.run("p", "good")+"/cause", nil)
	if good["task"] != nil || good["message"] != nil || len(good["lines"].([]any)) != 0 {
		t.Errorf("got %v", good)
	}
	if a := c.call(http.MethodGet, "/api/x/attempts/999/cause", nil); a.status != http.StatusNotFound {
		t.Errorf("no attempt: %d", a.status)
	}
}

// number reads an ID or a number.
func number(v any) (n int) {
	fmt.Sscan(cmp.Or(fmt.Sprint(v), "0"), &n)
	return n
}

// convert converts a value that was decoded without a type.
func convert[T any](t *testing.T, v any) (to T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil || json.Unmarshal(text, &to) != nil {
		t.Fatalf("%v: %v", v, err)
	}
	return to
}

// TestOverviewSessionsAndGrid checks that an overview lists failed attempts with their causes, running ones and
// upcoming schedules; that sessions are found by state, time and text, page by page; and that a grid shows tasks across
// sessions.
func TestOverviewSessionsAndGrid(t *testing.T) {
	t.Parallel()
	c := open(t)
	begun := c.must(http.MethodGet, "/api/x/overview", nil)["at"]
	c.push(archive(map[string]string{"wf.dig": various, "good.dig": "schedule:\n  daily>: 07:00:00\n+a: {echo>: a}\n", "waits.dig": "+w: {wait>: 1h}\n"}))
	for _, day := range []string{"01", "02", "03"} {
		c.ended(c.start("p", "wf", "2024-01-"+day+"T00:00:00Z"))
	}
	c.ended(c.start("p", "good", "2024-01-04T00:00:00Z"))
	waiting := c.start("p", "waits", "2024-01-05T00:00:00Z")

	var overview struct {
		Running struct {
			Total int
			Rows  []struct {
				Attempt     object
				Tasks, Done int
			}
		}
		Failed struct {
			All  bool
			Rows []struct {
				Attempt       object
				Task, Message string
			}
		}
		Late []object
		Next struct {
			Total int
			Rows  []object
		}
	}
	c.get(fmt.Sprintf("/api/x/overview?seen=%.0f", begun), &overview)
	if r := overview.Running; r.Total != 1 || len(r.Rows) != 1 || r.Rows[0].Attempt["id"] != waiting || r.Rows[0].Tasks != 1 || r.Rows[0].Done != 0 {
		t.Errorf("running: %+v", r)
	}
	if f := overview.Failed; len(f.Rows) != 3 || !f.All || f.Rows[0].Task != "+wf+again+bad" || f.Rows[0].Message != "it cannot be done" {
		t.Errorf("failed: %+v", f)
	}
	if n := overview.Next; len(n.Rows) != 1 || n.Total != 1 || len(overview.Late) != 0 {
		t.Errorf("next %+v, late %v", n, overview.Late)
	}
	if later := c.must(http.MethodGet, "/api/x/overview?seen=99999999999999", nil); len(later["failed"].(object)["rows"].([]any)) != 0 {
		t.Errorf("failed after all: %v", later["failed"])
	}

	for query, want := range map[string]string{
		"":                      "05 04 03 02 01",
		"state=error":           "03 02 01",
		"state=running,success": "05 04",
		"state=killed":          "",
		"project=p&workflow=wf&from=2024-01-02T00:00:00Z&to=2024-01-03T00:00:00Z": "02",
		"q=GOO":   "04",
		"q=p/w":   "05 03 02 01",
		"count=2": "05 04 03 02 01",
	} {
		if got := c.days(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	for query, status := range map[string]int{"state=lost": 400, "from=yesterday": 400, "count=0": 400, "count=201": 400, "project=nosuch": 404, "before=x": 404} {
		if a := c.call(http.MethodGet, "/api/x/sessions?"+query, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", query, a.status, a.content, status)
		}
	}

	id := c.must(http.MethodGet, "/api/workflow?project=p&name=wf", nil)["id"].(string)
	var grid struct {
		Columns []object
		Rows    []struct {
			Name  string
			Inner bool
			State []string
			Took  []int64
			Tries []int
		}
		More bool
		Next *string
	}
	c.get("/api/x/workflows/"+id+"/grid?columns=2", &grid)
	shape := ""
	for _, r := range grid.Rows {
		shape += fmt.Sprint(r.Name, " ", r.Inner, " ", r.State, " ", r.Tries, " ")
	}
	want := "+side true [success success] [1 1] +each true [success success] [1 1] +again true [group_error group_error] [1 1] " +
		"+never false [blocked blocked] [1 1] ^failure-alert false [success success] [1 1] "
	if shape != want || len(grid.Columns) != 2 || grid.Next == nil || grid.More {
		t.Errorf("grid: %s\n%+v", shape, grid)
	}
	c.get("/api/x/workflows/"+id+"/grid?columns=2&rows=1&parent="+url.QueryEscape("+wf+again"), &grid)
	if r := grid.Rows[0]; len(grid.Rows) != 1 || grid.More || r.Name != "+bad" || r.Took[0] < 0 || r.Tries[1] != 2 || r.State[0] != "error" {
		t.Errorf("below a group: %+v", grid)
	}
	for path, status := range map[string]int{"/grid?columns=0": 400, "/grid?rows=501": 400} {
		if a := c.call(http.MethodGet, "/api/x/workflows/"+id+path, nil); a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.content)
		}
	}
	if a := c.call(http.MethodGet, "/api/x/workflows/999999/grid", nil); a.status != http.StatusNotFound {
		t.Errorf("no such workflow: %d", a.status)
	}
}

// days searches sessions page by page and returns their days.
func (c caller) days(query string) string {
	c.t.Helper()
	var days []string
	for before := ""; ; {
		var page struct {
			Sessions []struct{ SessionTime string }
			Next     *string
		}
		c.get("/api/x/sessions?"+query+before, &page)
		for _, s := range page.Sessions {
			days = append(days, s.SessionTime[8:10])
		}
		if page.Next == nil {
			return strings.Join(days, " ")
		}
		before = "&before=" + *page.Next
	}
}

// TestTimesOfASchedule checks that the times of a schedule are listed for up to a year, with the past sessions that
// exist.
func TestTimesOfASchedule(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": "timezone: Asia/Tokyo\nschedule:\n  daily>: 07:00:00\n+a: {fail>: no}\n"}))
	schedule := c.first("/api/schedules")
	path := "/api/x/schedules/" + schedule["id"].(string)
	var upcoming struct {
		Times []struct{ SessionTime, RunTime string }
	}
	c.get(path+"/upcoming?count=365", &upcoming)
	if first := upcoming.Times[0]; len(upcoming.Times) != 365 || first.SessionTime != schedule["nextScheduleTime"] || first.RunTime != schedule["nextRunTime"] {
		t.Errorf("%d times, first %v, want %v", len(upcoming.Times), first, schedule)
	}
	c.get(path+"/upcoming?count=1&from=2099-12-31T23:00:00Z", &upcoming)
	if got := upcoming.Times[0].SessionTime; got != "2100-01-02T00:00:00+09:00" {
		t.Errorf("from a time on: %s", got)
	}
	c.ended(c.start("p", "wf", "2024-01-02T00:00:00+09:00"))
	var dates struct {
		Dates []struct {
			SessionTime, State   string
			SessionID, AttemptID *string
			Ahead                bool
		}
		All bool
	}
	c.get(path+"/dates?from=2024-01-01T00:00:00%2B09:00&to=2024-01-04T00:00:00%2B09:00", &dates)
	shape := ""
	for _, d := range dates.Dates {
		shape += fmt.Sprint(d.SessionTime, " ", d.State, " ", d.AttemptID != nil, "; ")
	}
	if want := "2024-01-01T00:00:00+09:00 new false; 2024-01-02T00:00:00+09:00 error true; 2024-01-03T00:00:00+09:00 new false; "; shape != want || !dates.All {
		t.Errorf("got %s, want %s", shape, want)
	}
	for query, status := range map[string]int{"/dates": 400, "/dates?from=x": 400, "/dates?from=2024-01-01T00:00:00Z&count=1001": 400, "/upcoming?count=0": 400, "/upcoming?from=x": 400} {
		if a := c.call(http.MethodGet, path+query, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", query, a.status, a.content, status)
		}
	}
	if a := c.call(http.MethodGet, "/api/x/schedules/999999/upcoming", nil); a.status != http.StatusNotFound {
		t.Errorf("no such schedule: %d", a.status)
	}
}

// TestSinceItWorked checks that a failed attempt is compared with the last successful one, showing different revisions,
// files and parameters, and that the files of a revision can be listed and read.
func TestSinceItWorked(t *testing.T) {
	t.Parallel()
	c := open(t)
	files := map[string]string{"wf.dig": "+a: {echo>: a}\n", "sql/x.sql": "select 1", "old.txt": "old", "same.txt": "same", "picture": "\xff\xfe"}
	project := c.push(archive(files))
	start := func(name, params string) string {
		w := c.must(http.MethodGet, "/api/workflow?project=p&name=wf", nil)
		body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-02T00:00:00Z","retryAttemptName":%q,"params":%s}`, w["id"], name, params)
		a := c.must(http.MethodPut, "/api/attempts", body)["id"].(string)
		c.ended(a)
		return a
	}
	first := start("one", `{"table":"events","same":1}`)
	delete(files, "old.txt")
	files["wf.dig"], files["new.txt"] = "+a: {fail>: no}\n", "new"
	c.must(http.MethodPut, "/api/projects?project=p&revision=r2", archive(files))
	start("two", `{}`)
	bad := start("three", `{"table":"events_v2","same":1,"more":{"x":[1]}}`)

	got := c.must(http.MethodGet, "/api/x/attempts/"+bad+"/comparison", nil)
	// On a busy machine, a task may take a second longer and then appear in this list.
	if _, listed := got["tasks"].([]any); !listed {
		t.Errorf("tasks: %v", got["tasks"])
	}
	delete(got, "tasks")
	want := object{"looked": true, "revision": object{"from": "r", "to": "r2"},
		"files":  []any{object{"path": "new.txt", "kind": "added"}, object{"path": "old.txt", "kind": "removed"}, object{"path": "wf.dig", "kind": "changed"}},
		"params": []any{object{"name": "more", "from": nil, "to": object{"x": []any{1.0}}}, object{"name": "table", "from": "events", "to": "events_v2"}}}
	with, _ := got["with"].(object)
	delete(got, "with")
	if d := gocmp.Diff(want, got); d != "" || with["id"] != first {
		t.Errorf("with %v:\n%s", with, d)
	}
	if none := c.must(http.MethodGet, "/api/x/attempts/"+first+"/comparison", nil); none["with"] != nil || none["looked"] != true {
		t.Errorf("the first one: %v", none)
	}

	at := "/api/x/projects/" + project + "/files"
	names := []string{}
	for _, f := range c.must(http.MethodGet, at+"?revision=r", nil)["files"].([]any) {
		names = append(names, f.(object)["path"].(string))
	}
	if d := gocmp.Diff([]string{"old.txt", "picture", "same.txt", "sql/x.sql", "wf.dig"}, names); d != "" {
		t.Error(d)
	}
	if f := c.must(http.MethodGet, at+"/sql/x.sql", nil); f["text"] != "select 1" || f["revision"] != "r2" || f["size"] != 8.0 {
		t.Errorf("got %v", f)
	}
	if f := c.must(http.MethodGet, at+"/picture", nil); f["text"] != nil || f["size"] != 2.0 {
		t.Errorf("what is no text: %v", f)
	}
	for path, status := range map[string]int{"/old.txt": 404, "/old.txt?revision=r": 200, "/..%2F..%2Fetc%2Fpasswd": 404, "?revision=nosuch": 404} {
		if a := c.call(http.MethodGet, at+path, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
}
