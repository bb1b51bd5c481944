package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHistory checks that each state that an attempt ever had can be shown, page by page, and that a fork takes over
// the tasks that had succeeded at that time and runs the rest again.
func TestHistory(t *testing.T) {
	t.Parallel()
	c := open(t)
	var asked sync.Map // *atomic.Int32 by path
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := asked.LoadOrStore(r.URL.Path, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
	}))
	t.Cleanup(peer.Close)
	c.push(archive(map[string]string{"wf.dig": "+a:\n  http>: " + peer.URL + "/a\n+b:\n  http>: " + peer.URL + "/b\n"}))
	attempt := c.run("p", "wf")
	at := "/api/attempts/" + attempt
	history := c.must(http.MethodGet, at+"/history", nil)["history"].([]any)
	fork := 0 // the first entry after which +a is done and +b is not
	for i, e := range history {
		if seq := e.(object)["seq"]; seq != float64(i+1) {
			t.Fatalf("entry %d has sequence number %v", i, seq)
		}
		states := map[string]string{}
		for _, task := range c.must(http.MethodGet, fmt.Sprintf("%s/history/%d/tasks", at, i+1), nil)["tasks"].([]any) {
			states[task.(object)["fullName"].(string)] = task.(object)["state"].(string)
		}
		if i == len(history)-1 && states["+wf"] != "success" {
			t.Errorf("last state: %v", states)
		}
		if fork == 0 && states["+wf+a"] == "success" && states["+wf+b"] != "success" {
			fork = i + 1
		}
	}
	if fork == 0 {
		t.Fatalf("no state between the tasks in %v", history)
	}
	if page := c.must(http.MethodGet, at+"/history?first=2&count=1", nil)["history"].([]any); len(page) != 1 || page[0].(object)["seq"] != 2.0 {
		t.Errorf("page: %v", page)
	}
	for path, status := range map[string]int{"/history?first=0": 400, "/history?count=1001": 400, "/history?count=x": 404, "/history/99/tasks": 404, "/history/x/tasks": 404} {
		if a := c.call(http.MethodGet, at+path, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
	made := c.must(http.MethodPost, at+"/fork", fmt.Sprintf(`{"seq":%d,"retryAttemptName":"fork"}`, fork))
	if end := c.ended(made["id"].(string)); end["status"] != "success" || end["index"] != 2.0 {
		t.Errorf("fork: %v", end)
	}
	for path, want := range map[string]int32{"/a": 1, "/b": 2} {
		if n, _ := asked.Load(path); n.(*atomic.Int32).Load() != want {
			t.Errorf("%s ran %d times, want %d", path, n.(*atomic.Int32).Load(), want)
		}
	}
	if a := c.call(http.MethodPost, at+"/fork", fmt.Sprintf(`{"seq":%d,"retryAttemptName":"fork"}`, fork)); a.status != http.StatusConflict {
		t.Errorf("the same fork again: %d %s", a.status, a.content)
	}
	for body, status := range map[string]int{`{"seq":1}`: 400, `{"retryAttemptName":"x"}`: 400, `{"seq":99,"retryAttemptName":"x"}`: 404} {
		if a := c.call(http.MethodPost, at+"/fork", body); a.status != status {
			t.Errorf("fork %s: %d %s, want %d", body, a.status, a.content, status)
		}
	}
}
