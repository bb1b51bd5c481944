package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestPools checks that pools can be created, changed, held, listed page by page and deleted, and which errors are
// returned if that is impossible.
func TestPools(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	c.must(http.MethodPut, "/api/projects?project=demo&revision=1", c.project())
	has := func(what string, v any, want ...string) {
		t.Helper()
		text := fmt.Sprint(v)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %s; want %s", what, text, w)
			}
		}
	}
	has("a new pool", c.must(http.MethodPut, "/api/pools/warehouse", `{"slots":5}`), "name:warehouse", "slots:5", "held:false", "project:<nil>")
	has("a changed pool", c.must(http.MethodPut, "/api/pools/warehouse", `{"slots":6}`), "slots:6")
	has("a pool of a project", c.must(http.MethodPut, "/api/pools/warehouse?project=demo", `{"slots":1}`), "slots:1", "name:demo")
	has("a held pool", c.must(http.MethodPost, "/api/pools/warehouse/hold", nil), "held:true", "slots:6")
	has("the other is not held", c.must(http.MethodGet, "/api/pools/warehouse?project=demo", nil), "held:false", "slots:1", "taken:[]", "waiting:[]", "all:true")
	has("a released pool", c.must(http.MethodPost, "/api/pools/warehouse/release", nil), "held:false", "slots:6")
	first := c.must(http.MethodGet, "/api/pools?page_size=1", nil)["pools"].([]any)
	rest := c.must(http.MethodGet, "/api/pools?last_id="+first[0].(map[string]any)["id"].(string), nil)["pools"].([]any)
	if len(first) != 1 || len(rest) != 1 {
		t.Errorf("pages have %v and %v", first, rest)
	}
	for _, wrong := range []struct {
		method, path, body, want string
		status                   int
	}{
		{http.MethodPut, "/api/pools/warehouse", `{"slots":0}`, "1 to 1000 slots, not 0", 400},
		{http.MethodPut, "/api/pools/warehouse", `{"slots":1001}`, "1 to 1000 slots", 400},
		{http.MethodPut, "/api/pools/warehouse", `{}`, "slots", 400},
		{http.MethodPut, "/api/pools/-a", `{"slots":1}`, "Invalid pool name", 400},
		{http.MethodPut, "/api/pools/a?project=none", `{"slots":1}`, "project name=none", 404},
		{http.MethodGet, "/api/pools/none", "", "pool name=none", 404},
		{http.MethodPost, "/api/pools/none/hold", "", "pool name=none", 404},
		{http.MethodDelete, "/api/pools/none", "", "pool name=none", 404},
	} {
		a := c.call(wrong.method, wrong.path, wrong.body)
		if a.status != wrong.status || !strings.Contains(string(a.content), wrong.want) {
			t.Errorf("%s %s: %d %s, want %d %s", wrong.method, wrong.path, a.status, a.content, wrong.status, wrong.want)
		}
	}
	viewer := caller{server, t, server.token(t, 1, "viewer")}
	if a := viewer.call(http.MethodPost, "/api/pools/warehouse/hold", nil); a.status != http.StatusForbidden {
		t.Errorf("a viewer holds a pool: %d %s", a.status, a.content)
	}
	has("a deleted pool", c.must(http.MethodDelete, "/api/pools/warehouse", nil), "slots:6")
	if a := c.call(http.MethodGet, "/api/pools/warehouse", nil); a.status != http.StatusNotFound {
		t.Errorf("a deleted pool: %d %s", a.status, a.content)
	}
}

// TestPoolInUse checks that a pool shows which tasks have its slots and which wait, and that it cannot be deleted
// meanwhile.
func TestPoolInUse(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	if server.deployed() {
		t.Skip("the store of a deployed stack is not at hand: the suites of the drivers show the same")
	}
	c := caller{server, t, server.token(t, 1, "admin")}
	c.must(http.MethodPut, "/api/pools/warehouse", `{"slots":2}`)
	ctx, ref, store := t.Context(), host.PoolRef{Site: 1, Name: "warehouse"}, server.engine.DB
	if err := store.TakeSlots(ctx, ref, host.Claim{Holder: host.Holder{Attempt: 12, Task: 3, Try: 1}.String(), Slots: 1}, []int{1}, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 101 {
		if err := store.JoinLine(ctx, ref, host.Claim{Holder: host.Holder{Attempt: 13, Task: i, Try: 1}.String(), Slots: 2, Priority: 1, Since: 1_700_000_000_000}); err != nil {
			t.Fatal(err)
		}
	}
	p := c.must(http.MethodGet, "/api/pools/warehouse", nil)
	taken, waiting := p["taken"].([]any), p["waiting"].([]any)
	if len(taken) != 1 || taken[0].(map[string]any)["attemptId"] != "12" || len(waiting) != 100 || p["all"] != false || waiting[0].(map[string]any)["taskId"] != "0" {
		t.Errorf("the pool shows %v", p)
	}
	if a := c.call(http.MethodDelete, "/api/pools/warehouse", nil); a.status != http.StatusConflict || !strings.Contains(string(a.content), "zerodag pool show warehouse") {
		t.Errorf("delete a pool in use: %d %s", a.status, a.content)
	}
}

// TestConcurrency checks the API's data about an attempt that waits for its turn and about a refused start, and that a
// kill ends a waiting attempt.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	text := "zerodag: 1\nconcurrency: {attempts: 1, on_limit: %s}\n+a:\n  wait>: 600s\n"
	c.push(archive(map[string]string{"line.dig": fmt.Sprintf(text, "wait"), "only.dig": fmt.Sprintf(text, "skip")}))
	running := c.start("p", "line", "2024-01-02T00:00:00Z")
	c.until("/api/attempts/"+running+"/tasks", `"state":"retry_waiting"`)
	waiting := c.start("p", "line", "2024-01-03T00:00:00Z")
	tasks := c.must(http.MethodGet, "/api/attempts/"+waiting+"/tasks", nil)["tasks"].([]any)
	root, child := tasks[0].(map[string]any), tasks[1].(map[string]any)
	if w, _ := root["waiting"].(map[string]any); root["state"] != "ready" || w["reason"] != "turn" || w["pool"] != "concurrency:line" || child["state"] != "blocked" {
		t.Errorf("an attempt that waits shows %v and %v", root, child)
	}
	for _, id := range []string{waiting, running} {
		c.must(http.MethodPost, "/api/attempts/"+id+"/kill", nil)
		if a := c.ended(id); a["status"] != "killed" {
			t.Errorf("a killed attempt is %v", a["status"])
		}
	}
	only := c.start("p", "only", "2024-01-02T00:00:00Z")
	w := c.must(http.MethodGet, "/api/workflow?project=p&name=only", nil)
	start := func(session string) answer {
		return c.call(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, w["id"], session))
	}
	if a := start("2024-01-03T00:00:00Z"); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), "already running: attempt "+only) {
		t.Errorf("one more attempt: %d %s", a.status, a.content)
	}
	if a := start("2024-01-02T00:00:00Z"); a.status != http.StatusConflict || !strings.Contains(string(a.content), `"id":"`+only+`"`) {
		t.Errorf("the same session again: %d %s", a.status, a.content)
	}
	if pools := c.must(http.MethodGet, "/api/pools", nil)["pools"].([]any); len(pools) != 0 {
		t.Errorf("pools that nobody has made are listed: %v", pools)
	}
	c.must(http.MethodPost, "/api/attempts/"+only+"/kill", nil)
	c.ended(only)
}

// until retries a request until the response contains the given text.
func (c caller) until(path, text string) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // polls, like clients of this API
		if a := c.call(http.MethodGet, path, nil); strings.Contains(string(a.content), text) {
			return
		}
	}
	c.t.Fatalf("%s never has %s", path, text)
}

// TestStandings checks the data for an attempt's pages about tasks that were skipped, failed with an ignored error, or
// are waiting, and how many tasks precede them in line.
func TestStandings(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	c.must(http.MethodPut, "/api/pools/ware", `{"slots":1}`)
	c.push(archive(map[string]string{
		"marks.dig": "zerodag: 1\n+no:\n  _if: false\n  echo>: x\n+bad:\n  _ignore_error: true\n  fail>: no\n+run:\n  _pool: ware\n  echo>: x\n",
		"long.dig":  "zerodag: 1\n+a:\n  _pool: ware\n  wait>: 600s\n",
	}))
	marks := c.start("p", "marks", "2024-01-02T00:00:00Z")
	c.ended(marks)
	outline := fmt.Sprint(c.must(http.MethodGet, "/api/x/attempts/"+marks+"/outline", nil)["tasks"])
	for _, want := range []string{"skipped:[2]", "ignored:[3]", "runs:[0 0 1 1]"} {
		if !strings.Contains(outline, want) {
			t.Errorf("the outline has no %s: %s", want, outline)
		}
	}
	var attempts []string
	for _, day := range []string{"02", "03", "04"} {
		attempts = append(attempts, c.start("p", "long", "2024-01-"+day+"T00:00:00Z"))
		c.until("/api/attempts/"+attempts[len(attempts)-1]+"/tasks", map[bool]string{true: `"retry_waiting"`, false: `"ready"`}[day == "02"])
	}
	c.until("/api/x/attempts/"+attempts[2]+"/tasks/2", `"waiting":{"reason":"slots","since":"2`)
	c.must(http.MethodPost, "/api/attempts/"+attempts[2]+"/pause", "{}")
	c.until("/api/x/attempts/"+attempts[2]+"/tasks/2", `"waiting":{"reason":"pause","since":"2`)
	c.must(http.MethodPost, "/api/attempts/"+attempts[2]+"/unpause", nil)
	c.must(http.MethodPost, "/api/pools/ware/hold", nil)
	c.until("/api/x/attempts/"+attempts[2]+"/tasks/2", `"ahead":1,"held":true`)
	if changes := string(c.call(http.MethodGet, "/api/x/attempts/"+attempts[2]+"/changes?after=0", nil).content); !strings.Contains(changes, `"waiting":[2]`) {
		t.Errorf("the changes do not say who waits: %s", changes)
	}
	for _, a := range attempts {
		c.must(http.MethodPost, "/api/attempts/"+a+"/kill", nil)
		c.ended(a)
	}
}
