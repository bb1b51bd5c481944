package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestPauseOverREST checks that an attempt can be paused and resumed, who may do that, that the responses about it name
// the user, that both calls are in the audit log, and which calls are refused.
func TestPauseOverREST(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	admin := caller{server, t, server.token(t, 1, "admin")}
	operator := caller{server, t, server.token(t, 1, "operator")}
	viewer := caller{server, t, server.token(t, 1, "viewer")}
	admin.push(archive(map[string]string{"slow.dig": "+a:\n  wait>: 600s\n+b:\n  echo>: b\n"}))
	id := admin.start("p", "slow", "2024-01-02T00:00:00Z")
	path := "/api/attempts/" + id
	shows := func(want string) {
		t.Helper()
		for range 200 {
			if strings.Contains(fmt.Sprint(admin.must(http.MethodGet, path, nil)["paused"]), want) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%v is not paused as %s", admin.must(http.MethodGet, path, nil), want)
	}
	if a := viewer.call(http.MethodPost, path+"/pause", `{}`); a.status != http.StatusForbidden {
		t.Errorf("a viewer pauses: %d %s", a.status, a.content)
	}
	if a := operator.call(http.MethodPost, path+"/pause", `{"reason":"`+strings.Repeat("x", 1001)+`"}`); a.status != http.StatusBadRequest {
		t.Errorf("a long reason: %d %s", a.status, a.content)
	}
	if a := operator.call(http.MethodPost, path+"/pause", `{"reason":7}`); a.status != http.StatusBadRequest {
		t.Errorf("a reason that is no text: %d %s", a.status, a.content)
	}
	operator.must(http.MethodPost, path+"/pause", `{"reason":"down"}`)
	shows("reason:down")
	operator.must(http.MethodPost, path+"/pause", nil)
	shows("reason:down")
	if a := fmt.Sprint(operator.must(http.MethodGet, path, nil)["status"]); a != "running" {
		t.Errorf("its status is %s", a)
	}
	operator.must(http.MethodPost, path+"/unpause", nil)
	shows("<nil>")
	operator.must(http.MethodPost, path+"/kill", nil)
	for _, what := range []string{"/pause", "/unpause"} {
		if a := operator.call(http.MethodPost, path+what, nil); a.status != http.StatusConflict {
			t.Errorf("%s after a kill: %d %s", what, a.status, a.content)
		}
	}
	if a := operator.call(http.MethodPost, "/api/attempts/999/pause", nil); a.status != http.StatusNotFound {
		t.Errorf("a pause of none: %d %s", a.status, a.content)
	}
	audit := fmt.Sprint(admin.must(http.MethodGet, "/api/audit", nil))
	for _, action := range []string{"action:pause", "action:unpause", "target:attempt " + id} {
		if !strings.Contains(audit, action) {
			t.Errorf("the audit log has no %s: %s", action, audit)
		}
	}
}

// TestPauseProjectOverREST checks that a project can be paused and resumed, who may do that, that starts are refused
// with the user and the reason of the pause, that the project also shows them, and that both calls are in the audit
// log.
func TestPauseProjectOverREST(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	admin := caller{server, t, server.token(t, 1, "admin")}
	operator := caller{server, t, server.token(t, 1, "operator")}
	viewer := caller{server, t, server.token(t, 1, "viewer")}
	admin.push(archive(map[string]string{"main.dig": "+a:\n  echo>: a\n"}))
	id := fmt.Sprint(admin.must(http.MethodGet, "/api/project?name=p", nil)["id"])
	path := "/api/projects/" + id
	if a := viewer.call(http.MethodPost, path+"/pause", `{}`); a.status != http.StatusForbidden {
		t.Errorf("a viewer pauses: %d %s", a.status, a.content)
	}
	for _, wrong := range []string{`{"reason":"` + strings.Repeat("x", 1001) + `"}`, `{"reason":7}`, `{"reason":"a\u001b[31mred"}`, `{"reason":"two\nlines"}`} {
		if a := operator.call(http.MethodPost, path+"/pause", wrong); a.status != http.StatusBadRequest {
			t.Errorf("%.20s: %d %s", wrong, a.status, a.content)
		}
	}
	shown := operator.must(http.MethodPost, path+"/pause", `{"reason":"the warehouse is down"}`)
	if p, ok := shown["paused"].(map[string]any); !ok || p["reason"] != "the warehouse is down" || p["at"] == nil {
		t.Errorf("the answer is %v", shown)
	}
	for _, list := range []string{path, "/api/projects", "/api/project?name=p"} {
		if text := fmt.Sprint(viewer.must(http.MethodGet, list, nil)); !strings.Contains(text, "reason:the warehouse is down") {
			t.Errorf("%s: %s", list, text)
		}
	}
	workflow := fmt.Sprint(admin.must(http.MethodGet, "/api/workflow?project=p&name=main", nil)["id"])
	start := operator.call(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-02T00:00:00Z","params":{}}`, workflow))
	for _, part := range []string{"Project p has been paused since 20", "(the warehouse is down)", "zerodag project unpause p"} {
		if start.status != http.StatusBadRequest || !strings.Contains(string(start.content), part) {
			t.Errorf("a start: %d %s", start.status, start.content)
		}
	}
	fill := operator.call(http.MethodPost, "/api/backfills", fmt.Sprintf(`{"workflowId":%q,"dates":["2024-01-01"]}`, workflow))
	if fill.status != http.StatusBadRequest || !strings.Contains(string(fill.content), "Project p has been paused") {
		t.Errorf("a backfill: %d %s", fill.status, fill.content)
	}
	operator.must(http.MethodPost, path+"/pause", nil)
	if shown := operator.must(http.MethodPost, path+"/unpause", nil); shown["paused"] != nil {
		t.Errorf("it goes on as %v", shown)
	}
	operator.must(http.MethodPost, path+"/unpause", nil)
	operator.ended(operator.start("p", "main", "2024-01-02T00:00:00Z"))
	if a := operator.call(http.MethodPost, "/api/projects/999/pause", nil); a.status != http.StatusNotFound {
		t.Errorf("a pause of none: %d %s", a.status, a.content)
	}
	audit := fmt.Sprint(admin.must(http.MethodGet, "/api/audit", nil))
	for _, action := range []string{"action:pause project", "action:unpause project", "target:project p", "detail:the warehouse is down"} {
		if !strings.Contains(audit, action) {
			t.Errorf("the audit log has no %s: %s", action, audit)
		}
	}
}
