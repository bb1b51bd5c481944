package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// subjectOf is the data about a message in a response.
type subjectOf struct {
	What    string
	Attempt *struct {
		ID, Site, Workflow string
		Project            struct{ Name string }
	}
	Tasks []string
	Count int
}

// depth is the data about a queue in a response.
type depth struct {
	Name                         string
	Ready, Later, Leased, Behind int
	Aside                        *int
	Oldest                       int64
}

type queueAnswer struct {
	Approximate bool
	Queues      []depth
	Queue       string
	Messages    []struct {
		Name, State       string
		Since, Due, Until int64
		Deliveries, Size  int
		subjectOf
	}
	Next *string
}

// TestQueue checks that an owner sees the contents of the queues, and each message with its attempt and tasks, page by
// page; and that on AWS, where reading would remove messages, the numbers are marked as estimates.
func TestQueue(t *testing.T) {
	t.Parallel()
	server, c := everySite(t)
	if server.deployed() {
		var q queueAnswer
		c.get("/api/x/admin/queue", &q)
		if !q.Approximate || q.Messages != nil || len(q.Queues) != 2 || q.Queues[0].Aside == nil {
			t.Errorf("%+v", q)
		}
		return
	}
	c.must(http.MethodPut, "/api/projects?project=sales&revision=r", archive(map[string]string{"w.dig": "+p:\n  _parallel: true\n  +a: {wait>: 10h}\n  +b: {wait>: 10h}\n  +c: {wait>: 10h}\n"}))
	attempt := c.start("sales", "w", "2024-01-01T00:00:00Z")
	var tasks []string
	for len(tasks) < 3 { // until all three wait; the test's time limit applies
		tasks = nil
		after := ""
		for {
			var q queueAnswer
			c.get("/api/x/admin/queue?queue=tasks&count=1"+after, &q)
			for _, m := range q.Messages {
				if m.State != "later" || m.Due == 0 {
					continue
				}
				if m.Attempt == nil || m.Attempt.ID != attempt || m.Attempt.Project.Name != "sales" || m.Attempt.Workflow != "w" || m.Attempt.Site != "0" || m.Since < m.Due-1000 || m.Size == 0 || m.Until != 0 {
					t.Fatalf("message %+v", m)
				}
				tasks = append(tasks, m.Tasks...)
			}
			if q.Next == nil {
				break
			}
			after = "&after=" + *q.Next
		}
	}
	slices.Sort(tasks)
	if diff := gocmp.Diff([]string{"+w+p+a", "+w+p+b", "+w+p+c"}, tasks); diff != "" {
		t.Errorf("tasks that wait (-want +got):\n%s", diff)
	}
	var q queueAnswer
	c.get("/api/x/admin/queue?queue=events", &q)
	if q.Approximate || q.Queue != "events" || q.Messages == nil || len(q.Queues) != 2 || q.Queues[0].Aside != nil {
		t.Errorf("%+v", q)
	}
	if i := slices.IndexFunc(q.Queues, func(x depth) bool { return x.Name == "tasks" }); i < 0 || q.Queues[i].Later < 3 {
		t.Errorf("numbers: %+v", q.Queues)
	}
	for query, status := range map[string]int{"queue=mail": 400, "count=0": 400, "count=201": 400, "after=x": 404} {
		if a := c.call(http.MethodGet, "/api/x/admin/queue?"+query, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", query, a.status, a.content, status)
		}
	}
	if a := c.call(http.MethodGet, "/api/x/admin/dead-letters", nil); a.status != 404 {
		t.Errorf("dead letters of one machine: %d %s", a.status, a.content)
	}
	c.must(http.MethodPost, "/api/attempts/"+attempt+"/kill", "{}")
}

// TestSitesAreListed checks that an owner can list all sites with their counts, page by page, and that a site appears
// with its first push.
func TestSitesAreListed(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	if server.deployed() {
		t.Skip("NOT RUN on a deployed stack: it has the sites of all tests")
	}
	owner := caller{server, t, server.token(t, 0, "owner")}
	for _, site := range []int64{1, 12} {
		c := caller{server, t, server.token(t, site, "admin")}
		c.must(http.MethodPut, fmt.Sprintf("/api/projects?project=p%d&revision=r", site), archive(map[string]string{"w.dig": "+a: {echo>: x}\n"}))
	}
	server.token(t, 7, "admin")
	type page struct {
		Sites []struct {
			ID                         string
			Projects, Attempts, Tokens int
		}
		Next *string
	}
	var first, second page
	owner.get("/api/x/admin/sites?count=1", &first)
	if len(first.Sites) != 1 || first.Next == nil || first.Sites[0].ID != "1" || first.Sites[0].Projects != 1 || first.Sites[0].Tokens != 1 || first.Sites[0].Attempts != 0 {
		t.Fatalf("first page: %+v", first)
	}
	owner.get("/api/x/admin/sites?count=1&after="+*first.Next, &second)
	if len(second.Sites) != 1 || second.Sites[0].ID != "12" || second.Next != nil {
		t.Errorf("second page: %+v", second)
	}
}

// TestLimitsAreListed checks that an admin can read the limits of the server, with the settings that change them and
// their usage.
func TestLimitsAreListed(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.must(http.MethodPut, "/api/projects?project=limited&revision=r", archive(map[string]string{"w.dig": "+a: {wait>: 10h}\n"}))
	attempt := c.start("limited", "w", "2024-01-01T00:00:00Z")
	var answer struct {
		Limits []struct {
			Name, About, Unit string
			Setting           *string
			Value, Use        *int64
		}
	}
	c.get("/api/x/admin/limits", &answer)
	found := map[string]string{}
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	for _, l := range answer.Limits {
		setting := "-"
		if l.Setting != nil {
			setting = *l.Setting
		}
		found[l.Name] = strings.Join([]string{number(l.Value), number(l.Use), l.Unit, setting}, " ")
		if l.About == "" || l.Unit == "" {
			t.Errorf("%s is not described", l.Name)
		}
	}
	want := map[string]string{"attempts": "100 1 attempts executor.attempt_max_run", "keep_attempts": "- - seconds retention.attempts", "body": "10485760 - bytes -", "attempts_page": "100 - rows api.max_attempts_page_size"}
	if c.deployed() {
		want = map[string]string{"body": "10485760 - bytes -", "attempts_page": "100 - rows -"}
		if !strings.HasSuffix(found["attempts"], " 1 attempts attemptLimit") || found["threads"] != "" {
			t.Errorf("limits of a stage: %v", found)
		}
	}
	for name, text := range want {
		if found[name] != text {
			t.Errorf("%s: %q, want %q", name, found[name], text)
		}
	}
	c.must(http.MethodPost, "/api/attempts/"+attempt+"/kill", "{}")
}

// letters holds dead letters in memory.
type letters struct {
	list     []host.DeadLetter
	returned []string
}

func (l *letters) Redrive(context.Context, func(int) bool) (int, error) { return 0, nil }
func (l *letters) Look(_ context.Context, f func(host.DeadLetter) bool) error {
	for _, x := range l.list {
		if !f(x) {
			return nil
		}
	}
	return nil
}

func (l *letters) Return(_ context.Context, id string) error {
	for i, x := range l.list {
		if x.ID == id {
			l.returned, l.list = append(l.returned, id), slices.Delete(slices.Clone(l.list), i, i+1)
			return nil
		}
	}
	return host.ErrNotFound
}

// TestDeadLetters checks that an owner can list the dead letters, read a single one with its body, except values stored
// by tasks, and send one back, which the audit log records.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	result := events.Encode(events.Event{Kind: events.Results, Results: []events.Result{{Kind: events.Succeeded, Run: engine.Run{Task: 2, Dispatch: 1}, Outcome: engine.Outcome{Stores: param.New("key", "s3cret")}}}})
	tasks, failed := &letters{}, &letters{}
	for i := range 60 {
		failed.list = append(failed.list, host.DeadLetter{ID: fmt.Sprint("e", i), Queue: "events", Sent: at.Add(time.Duration(60-i) * time.Second), Count: 21, Times: 1, Size: len(result), Message: host.Message{ID: "999999/done", Group: "999999", Body: result}})
	}
	tasks.list = []host.DeadLetter{{ID: "t1", Queue: "tasks", Sent: at.Add(-time.Hour), Broken: "it has no attribute \"id\": zerodag did not send it"}}
	server := ours(t, httpapi.Options{Auth: access.Auth{Required: true}, Dead: []host.DeadLetters{failed, tasks}})
	c := caller{server, t, server.token(t, 0, "owner")}
	var answer struct {
		Letters []struct {
			ID, Queue, Name      string
			Sent                 int64
			Deliveries, Returned int
			Broken               *string
			subjectOf
		}
		All bool
	}
	c.get("/api/x/admin/dead-letters?count=50", &answer)
	if answer.All || len(answer.Letters) != 51 || answer.Letters[0].ID != "t1" || answer.Letters[0].Broken == nil || answer.Letters[1].ID != "e49" {
		t.Fatalf("%d letters, the first ones %+v", len(answer.Letters), answer.Letters[:2])
	}
	if l := answer.Letters[1]; l.What != "results" || l.Count != 1 || l.Attempt != nil || l.Deliveries != 21 || l.Returned != 1 || l.Sent != at.Add(11*time.Second).UnixMilli() {
		t.Errorf("%+v", l)
	}
	c.get("/api/x/admin/dead-letters?count=60", &answer)
	if !answer.All || len(answer.Letters) != 61 {
		t.Errorf("%d letters, all %v", len(answer.Letters), answer.All)
	}
	one := c.call(http.MethodGet, "/api/x/admin/dead-letters/e3", nil)
	if one.status != 200 || !strings.Contains(string(one.content), `"task":2`) || strings.Contains(string(one.content), "s3cret") {
		t.Errorf("%d %s", one.status, one.content)
	}
	if a := c.call(http.MethodGet, "/api/x/admin/dead-letters/t1", nil); a.status != 200 || !strings.Contains(string(a.content), `"body":null`) {
		t.Errorf("one that cannot be read: %d %s", a.status, a.content)
	}
	for path, status := range map[string]int{"/api/x/admin/dead-letters/t1/redrive": 200, "/api/x/admin/dead-letters/nosuch/redrive": 404} {
		if a := c.call(http.MethodPost, path, nil); a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.content)
		}
	}
	if len(tasks.returned) != 1 || len(failed.returned) != 0 {
		t.Errorf("sent back: %v %v", tasks.returned, failed.returned)
	}
	for path, status := range map[string]int{"/t1": 404, "?count=0": 400, "?count=101": 400} {
		if a := c.call(http.MethodGet, "/api/x/admin/dead-letters"+path, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
	if audit := c.call(http.MethodGet, "/api/audit", nil); !strings.Contains(string(audit.content), "dead letter t1") {
		t.Errorf("the audit log: %s", audit.content)
	}
}
