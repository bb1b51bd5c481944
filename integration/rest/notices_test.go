package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestNotices checks that the site's undelivered notices are listed, also by attempt, and that operators can send them
// again, either individually or all abandoned ones at once.
func TestNotices(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	if server.deployed() {
		c := caller{server, t, server.token(t, 1, "operator")}
		for method, path := range map[string]string{http.MethodGet: "/api/x/notices", http.MethodPost: "/api/x/notices/retry"} {
			if a := c.call(method, path, nil); a.status != http.StatusNotFound {
				t.Errorf("%s %s where notifications go to a topic: %d %s", method, path, a.status, a.content)
			}
		}
		return
	}
	store := server.engine.DB
	now := time.Now().UTC()
	for i, n := range []host.StoredNotice{{Site: 1, Attempt: 7, Due: now.Add(time.Hour), Tries: 3, Error: "no answer"}, {Site: 1, Attempt: 8, GivenUpAt: now, Tries: 40, Error: "gone"},
		{Site: 1, Attempt: 8, GivenUpAt: now, Tries: 41, Error: "gone"}, {Site: 2, Attempt: 9, GivenUpAt: now}} {
		n.Key, n.Message, n.Project, n.Workflow, n.Body, n.CreatedAt = fmt.Sprint(i), "failed", "p", "w", []byte("{}"), now
		if n.Since = now; n.GivenUpAt.IsZero() {
			n.Since = now.Add(-time.Hour)
		}
		if err := store.PutNotice(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	operator, viewer := caller{server, t, server.token(t, 1, "operator")}, caller{server, t, server.token(t, 1, "viewer")}
	list := func(query string, want int) []any {
		t.Helper()
		got := viewer.must(http.MethodGet, "/api/x/notices"+query, nil)["notices"].([]any)
		if len(got) != want {
			t.Fatalf("%q lists %d notices, want %d: %v", query, len(got), want, got)
		}
		return got
	}
	first := list("", 3)[0].(map[string]any)
	if first["attemptId"] != "7" || first["tries"] != 3.0 || first["error"] != "no answer" || first["retryAt"] == nil || first["givenUpAt"] != nil || first["message"] != "failed" || first["workflow"] != "w" {
		t.Errorf("got %v", first)
	}
	given := list("?given_up=true", 2)[0].(map[string]any)
	if given["retryAt"] != nil || given["givenUpAt"] == nil {
		t.Errorf("got %v", given)
	}
	list("?attempt=8", 2)
	list("?attempt=9", 0)
	list("?count=1&last_id="+first["id"].(string), 1)
	for path, want := range map[string]int{"/api/x/notices/retry": 403, "/api/x/notices/" + first["id"].(string) + "/retry": 403} {
		if a := viewer.call(http.MethodPost, path, nil); a.status != want {
			t.Errorf("a viewer: %s: %d %s", path, a.status, a.content)
		}
	}
	if a := operator.call(http.MethodPost, "/api/x/notices/4/retry", nil); a.status != 404 {
		t.Errorf("a notice of another site: %d %s", a.status, a.content)
	}
	before := time.Now().UTC().Add(-time.Second)
	if n := operator.must(http.MethodPost, "/api/x/notices/"+first["id"].(string)+"/retry", nil)["notices"]; n != 1.0 {
		t.Errorf("sent %v again", n)
	}
	if n := operator.must(http.MethodPost, "/api/x/notices/retry", nil)["notices"]; n != 2.0 {
		t.Errorf("sent %v again", n)
	}
	left, err := store.Notices(t.Context(), host.NoticeQuery{Site: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range left { // the server may have delivered some already
		if n.Due.Before(before) || n.Since.Before(before) || !n.GivenUpAt.IsZero() {
			t.Errorf("not sent again: %+v", n)
		}
	}
	if other, err := store.Notices(t.Context(), host.NoticeQuery{Site: 2}); err != nil || len(other) != 1 || other[0].GivenUpAt.IsZero() {
		t.Errorf("the other site's: %+v %v", other, err)
	}
}
