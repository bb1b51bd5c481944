package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestBackfills checks that a backfill can be planned, started (once, however often it is requested), shown, held,
// released, killed and listed, and which errors are returned if that is impossible.
func TestBackfills(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	c.push(archive(map[string]string{"days.dig": "timezone: UTC\nschedule:\n  daily>: 07:00:00\n+a:\n  echo>: done\n", "none.dig": "+a:\n  wait>: 600s\n"}))
	id := func(name string) string {
		return fmt.Sprint(c.must(http.MethodGet, "/api/workflow?project=p&name="+name, nil)["id"])
	}
	days, none := id("days"), id("none")
	ask := func(workflow, more string) string { return fmt.Sprintf(`{"workflowId":%q,%s}`, workflow, more) }
	has := func(what string, v any, want ...string) {
		t.Helper()
		text := fmt.Sprint(v)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %s; want %s", what, text, w)
			}
		}
	}
	c.ended(c.start("p", "days", "2024-01-02T00:00:00Z"))
	has("a plan", c.must(http.MethodPost, "/api/backfills", ask(days, `"from":"2024-01-01","to":"2024-01-03","existing":"skip","dryRun":true`)),
		"backfill:<nil>", "total:3", "leftOut:1", "sessionTime:2024-01-03T00:00:00+00:00", "status:success")
	has("no backfills yet", c.must(http.MethodGet, "/api/backfills", nil), "backfills:[]")
	body := ask(days, `"from":"2024-01-01","to":"2024-01-03","existing":"skip","parallel":2,"order":"desc","name":"once","params":{"x":1}`)
	first := c.must(http.MethodPost, "/api/backfills", body)["backfill"].(map[string]any)
	path := "/api/backfills/" + fmt.Sprint(first["id"])
	c.until(path, `"status":"success"`)
	has("it ran", c.must(http.MethodGet, path, nil), "succeeded:2", "leftOut:1", "failed:0", "notBegun:0", "running:[]", "order:desc", "priority:low", "existing:skip",
		"firstSessionTime:2024-01-01T00:00:00+00:00", "lastSessionTime:2024-01-03T00:00:00+00:00", "retryAttemptName:backfill-"+fmt.Sprint(first["id"]))
	if again := c.must(http.MethodPost, "/api/backfills", body)["backfill"].(map[string]any); again["id"] != first["id"] {
		t.Errorf("asked again it is backfill %v", again["id"])
	}
	second := c.must(http.MethodPost, "/api/backfills", ask(none, `"dates":["2024-01-01","2024-01-02","2024-01-03"]`))["backfill"].(map[string]any)
	path = "/api/backfills/" + fmt.Sprint(second["id"])
	has("one runs", second, "status:running", "notBegun:2", "parallel:1", "existing:<nil>")
	has("held", c.must(http.MethodPost, path+"/hold", nil), "status:held")
	has("released", c.must(http.MethodPost, path+"/release", nil), "status:running")
	has("open ones", c.must(http.MethodGet, "/api/backfills?open=true", nil), "id:"+fmt.Sprint(second["id"]))
	page := c.must(http.MethodGet, "/api/backfills?page_size=1&project=p", nil)["backfills"].([]any)
	rest := c.must(http.MethodGet, "/api/backfills?project=p&workflow=days&last_id="+fmt.Sprint(second["id"]), nil)["backfills"].([]any)
	if len(page) != 1 || len(rest) != 1 || page[0].(map[string]any)["id"] != second["id"] || rest[0].(map[string]any)["id"] != first["id"] {
		t.Errorf("pages have %v and %v", page, rest)
	}
	for _, wrong := range []struct {
		method, path, body, want string
		status                   int
	}{
		{http.MethodPost, "/api/backfills", `{}`, "workflowId", 400},
		{http.MethodPost, "/api/backfills", ask("99999", `"from":"2024-01-01"`), "workflow id=99999", 404},
		{http.MethodPost, "/api/backfills", ask(days, `"parallel":0,"from":"2024-01-01"`), "parallel must be 1 or more but is 0", 400},
		{http.MethodPost, "/api/backfills", ask(days, `"from":"2024-01-01","count":3,"existing":"error"`), "already has these sessions: 2024-01-01T00:00:00Z", 409},
		{http.MethodPost, "/api/backfills", ask(days, `"from":"2024-01-01","count":3,"name":"once"`), "Another backfill name=once of workflow days", 409},
		{http.MethodGet, "/api/backfills/99999", "", "backfill id=99999", 404},
		{http.MethodPost, "/api/backfills/99999/kill", "", "backfill id=99999", 404},
		{http.MethodGet, "/api/backfills?workflow=days", "", "workflow= requires project=", 400},
		{http.MethodGet, "/api/backfills?project=none", "", "project name=none", 404},
		{http.MethodPost, "/api/backfills/" + fmt.Sprint(first["id"]) + "/hold", "", "has already ended: success", 409},
	} {
		a := c.call(wrong.method, wrong.path, wrong.body)
		if a.status != wrong.status || !strings.Contains(string(a.content), wrong.want) {
			t.Errorf("%s %s: %d %s, want %d %s", wrong.method, wrong.path, a.status, a.content, wrong.status, wrong.want)
		}
	}
	viewer := caller{server, t, server.token(t, 1, "viewer")}
	if a := viewer.call(http.MethodPost, path+"/kill", nil); a.status != http.StatusForbidden {
		t.Errorf("a viewer kills a backfill: %d %s", a.status, a.content)
	}
	c.must(http.MethodPost, path+"/kill", nil)
	c.until(path, `"status":"killed"`)
	has("killed", c.must(http.MethodGet, path, nil), "failed:1", "notBegun:2", "succeeded:0")
	other := caller{server, t, server.token(t, 2, "admin")}
	if a := other.call(http.MethodGet, path, nil); a.status != http.StatusNotFound {
		t.Errorf("another site sees it: %d %s", a.status, a.content)
	}
}
