package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestStartAtOverREST checks that the responses about an attempt that begins later contain its time, that it can be
// killed like any other, and which requests are refused.
func TestStartAtOverREST(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	admin := caller{server, t, server.token(t, 1, "admin")}
	admin.push(archive(map[string]string{"main.dig": "+a:\n  echo>: a\n"}))
	id := admin.must(http.MethodGet, "/api/workflow?project=p&name=main", nil)["id"]
	start := func(session, at string) answer {
		return admin.call(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{},"at":%s}`, id, session, at))
	}
	begins := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	a := start("2024-01-02T00:00:00Z", `"`+begins+`"`)
	if a.status != http.StatusOK || !strings.Contains(string(a.content), `"startsAt":"`+begins+`"`) {
		t.Fatalf("a start: %d %s", a.status, a.content)
	}
	var made struct{ ID, SessionID string }
	if err := json.Unmarshal(a.content, &made); err != nil {
		t.Fatal(err)
	}
	attempt := "/api/attempts/" + made.ID
	for _, path := range []string{attempt, "/api/attempts", "/api/sessions", "/api/sessions/" + made.SessionID + "/attempts"} {
		if a := admin.call(http.MethodGet, path, nil); !strings.Contains(string(a.content), `"startsAt":"`+begins+`"`) {
			t.Errorf("%s: %s", path, a.content)
		}
	}
	if a := start("2024-01-02T00:00:00Z", `"`+begins+`"`); a.status != http.StatusConflict {
		t.Errorf("the same start again: %d %s", a.status, a.content)
	}
	for _, at := range []string{`"soon"`, `7`, `"2999-01-01T00:00:00Z"`} {
		if a := start("2024-01-03T00:00:00Z", at); a.status != http.StatusBadRequest {
			t.Errorf("a start at %s: %d %s", at, a.status, a.content)
		}
	}
	if a := start("2024-01-04T00:00:00Z", "null"); a.status != http.StatusOK || strings.Contains(string(a.content), "startsAt") {
		t.Errorf("a start at no time: %d %s", a.status, a.content)
	}
	admin.must(http.MethodPost, attempt+"/kill", `{}`)
	if a := admin.ended(made.ID); a["status"] != "killed" {
		t.Errorf("it is not killed: %v", a)
	}
}
