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
		n.Channel, n.Kind = "ops", host.NoticeFailure
		if err := store.PutNotices(t.Context(), now, host.NoticeBatch{Notices: []host.StoredNotice{n}}); err != nil {
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
	if first["attemptId"] != "7" || first["tries"] != 3.0 || first["error"] != "no answer" || first["retryAt"] == nil || first["givenUpAt"] != nil || first["message"] != "failed" || first["workflow"] != "w" || first["channel"] != "ops" || first["kind"] != "failure" {
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

// TestAlerts checks that an owner sees the channels and routes with the outcome of the last tries, that a test shows
// the receivers' responses, and that no one else may call these endpoints.
func TestAlerts(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	owner, admin := caller{server, t, server.token(t, 0, "owner")}, caller{server, t, server.token(t, 1, "admin")}
	if server.deployed() {
		if a := owner.call(http.MethodGet, "/api/x/alerts", nil); a.status != http.StatusNotFound && a.status != http.StatusForbidden {
			t.Errorf("where notifications go to a topic: %d %s", a.status, a.content)
		}
		return
	}
	for _, problem := range []string{"no_service", ""} {
		if err := server.engine.DB.NoteDelivery(t.Context(), "ops", problem, time.Now().UTC()); err != nil {
			t.Fatal(err)
		}
	}
	all := owner.must(http.MethodGet, "/api/x/alerts", nil)
	channels, routes := all["channels"].([]any), all["routes"].([]any)
	if len(channels) != 2 || len(routes) != 1 {
		t.Fatalf("got %v", all)
	}
	ops, broken, route := channels[0].(map[string]any), channels[1].(map[string]any), routes[0].(map[string]any)
	if ops["name"] != "ops" || ops["type"] != "webhook" || ops["error"] != "no_service" || ops["deliveredAt"] == nil || ops["failedAt"] == nil || ops["waiting"] != 0.0 {
		t.Errorf("got %v", ops)
	}
	if broken["deliveredAt"] != nil || broken["error"] != nil {
		t.Errorf("a channel that was never tried: %v", broken)
	}
	if route["name"] != "main" || route["quiet"] != 3600.0 || fmt.Sprint(route["kinds"], route["projects"], route["workflows"]) != "[sla] [none] []" {
		t.Errorf("got %v", route)
	}
	for name, want := range map[string]string{"ops": "[map[answer:200 OK channel:ops delivered:true error:<nil>]]", "broken": "[map[answer:<nil> channel:broken delivered:false error:no_service]]",
		"main": "[map[answer:200 OK channel:ops delivered:true error:<nil>] map[answer:<nil> channel:broken delivered:false error:no_service]]"} {
		if got := fmt.Sprint(owner.must(http.MethodPost, "/api/x/alerts/"+name+"/test", nil)["tests"]); got != want {
			t.Errorf("test of %s: %s, want %s", name, got, want)
		}
	}
	if a := owner.call(http.MethodPost, "/api/x/alerts/other/test", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.content), "alert.channels.other") {
		t.Errorf("an unknown name: %d %s", a.status, a.content)
	}
	if a := admin.call(http.MethodGet, "/api/x/alerts", nil); a.status != http.StatusForbidden {
		t.Errorf("an administrator of a site: %d", a.status)
	}
}
