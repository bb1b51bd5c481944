package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zerodag/internal/httpapi"
)

// TestPauseOverREST proves that an attempt is paused and goes on, who may do that, that the answers about it say who did, that
// both are in the audit log, and what is refused.
func TestPauseOverREST(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: httpapi.Auth{Required: true}})
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
