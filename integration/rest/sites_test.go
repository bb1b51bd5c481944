package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// marker is part of every name of the site that the other site must not see.
const marker = "isolated"

// tenant holds the objects of one site.
type tenant struct {
	caller
	ids map[string]string // by the resource that a path begins with
}

func newTenant(c caller) tenant {
	c.must(http.MethodPut, "/api/projects?project="+marker+"&revision="+marker+"1&schedule_from=2030-01-01T00:00:00Z", c.project())
	p := c.must(http.MethodGet, "/api/project?name="+marker, nil)["id"].(string)
	c.must(http.MethodPut, "/api/projects/"+p+"/secrets/"+marker+".key", `{"value":"v"}`)
	c.must(http.MethodPut, "/api/pools/main?project="+marker, `{"slots":1}`)
	c.must(http.MethodPut, "/api/pools/main", `{"slots":1}`)
	w := c.must(http.MethodGet, "/api/workflow?name=main&project="+marker, nil)["id"].(string)
	filled := c.must(http.MethodPost, "/api/backfills", `{"workflowId":"`+w+`","dates":["2024-01-01"],"name":"`+marker+`"}`)["backfill"].(map[string]any)["id"].(string)
	c.until("/api/backfills/"+filled, `"finishedAt":"`)
	a := c.run(marker, "main")
	notice := "1" // a deployed stack keeps none
	if !c.deployed() {
		kept := host.StoredNotice{Key: marker, Site: 1, Message: marker, Body: []byte(`{}`), CreatedAt: time.Now(), Since: time.Now(), GivenUpAt: time.Now(), Error: marker}
		if err := c.engine.DB.PutNotice(c.t.Context(), kept); err != nil {
			c.t.Fatal(err)
		}
		notice = c.first("/api/x/notices")["id"].(string)
	}
	upload, _ := c.open("project="+marker+"&revision="+marker+"2", c.project())
	return tenant{c, map[string]string{
		"projects": p, "attempts": a, "logs": a, "admin": a,
		"workflows": c.first("/api/workflows")["id"].(string),
		"sessions":  c.first("/api/sessions")["id"].(string),
		"schedules": c.first("/api/schedules")["id"].(string),
		"tokens":    c.first("/api/tokens")["id"].(string),
		"backfills": filled,
		"notices":   notice,
		"uploads":   upload,
		"file_name": c.first("/api/logs/" + a + "/files")["fileName"].(string),
	}}
}

// fill puts the tenant's ids into the pattern of a path.
func (v tenant) fill(t *testing.T, pattern string) string {
	segments := strings.Split(pattern, "/")
	resource := strings.Split(strings.TrimPrefix(strings.TrimPrefix(pattern, "/api/"), "x/"), "/")[0]
	for i, s := range segments {
		switch s {
		case "{id}", "{attempt_id}":
			segments[i] = v.ids[resource]
		case "{task_id}":
			segments[i] = "1"
		case "{path}":
			segments[i] = "main.dig"
		case "{name}":
			segments[i] = "main"
		case "{key}":
			segments[i] = marker + ".key"
		case "{seq}", "{letter}":
			segments[i] = "1"
		case "{file_name}":
			segments[i] = url.PathEscape(v.ids["file_name"])
		default:
			if strings.HasPrefix(s, "{") {
				t.Errorf("%s: say here what %s is called with", pattern, s)
			}
		}
		if segments[i] == "" && i > 0 {
			t.Errorf("%s: the tenant has nothing for %s", pattern, s)
		}
	}
	return strings.Join(segments, "/")
}

// asked is the stranger's request to an endpoint without IDs in its path, by operationId. want is the status that
// denies it, or 0 if the answer only must not show anything.
type asked struct {
	query string
	body  any
	want  int
}

// number returns the number of the tenant's site.
func (v tenant) number() string { return strconv.FormatInt(v.site+1, 10) }

func (v tenant) questions() map[string]asked {
	start := `{"workflowId":"` + v.ids["workflows"] + `","sessionTime":"2024-05-05T00:00:00Z","params":{}}`
	return map[string]asked{
		"getVersion": {}, "getCaller": {}, "getHealth": {}, "getLive": {}, "getReady": {}, "getMetrics": {}, "getOpenAPI": {}, "checkClientVersion": {query: "client=1"},
		"getProject":             {query: "name=" + marker, want: 404},
		"getProjects":            {query: "name_pattern=" + marker},
		"getWorkflowDefinition":  {query: "project=" + marker + "&name=main", want: 404},
		"getWorkflowDefinitions": {query: "search_project_name=true&name_pattern=" + marker},
		"getSessions":            {},
		"getAttempts":            {query: "project=" + marker, want: 404},
		"startAttempt":           {body: start, want: 404},
		"getBackfills":           {},
		"startBackfill":          {body: `{"workflowId":"` + v.ids["workflows"] + `","dates":["2024-05-05"]}`, want: 404},
		"getSchedules":           {},
		"getOverview":            {query: "seen=0"},
		"checkStart":             {body: start, want: 404},
		"checkFiles":             {body: `{"files":{"a.dig":"+a: {require>: main, project_name: ` + marker + `}"}}`},
		"search":                 {query: "q=" + v.ids["attempts"]},
		"getSignIn":              {},
		"signIn":                 {body: `{"token":"` + marker + `"}`, want: 401},
		"signOut":                {want: 204},
		"leaveToSignIn":          {want: 404},
		"comeBackSignedIn":       {want: 404},
		"findSessions":           {query: "count=200"},
		"getTokens":              {query: "site=" + v.number(), want: 403},
		"createToken":            {body: `{"name":"x","role":"admin","site":` + v.number() + `}`, want: 403},
		"getAudit":               {},
		"getPools":               {},
		"getBackup":              {want: 403},
		"redrive":                {want: 403},
		"rekey":                  {want: 403},
		"importAttempts":         {body: `{"attempts":[]}`, want: 403},
		"importSchedules":        {body: `{"schedules":[],"enabling":"here"}`, want: 403},
		"getLimits":              {},
		"getSites":               {want: 403},
		"getServers":             {want: 403},
		"getQueue":               {want: 403},
		"getDeadLetters":         {want: 403},
		"revive":                 {want: 403},
		"getNotices":             {query: "attempt=" + v.ids["attempts"]},
		"retryNotices":           {},
		"putProject":             {query: "project=strange&revision=r", body: v.project()},
		"openUpload":             {query: "project=strange&revision=s", body: announce(v.project())},
	}
}

// bodies returns the request bodies of endpoints with an ID in their path, by operationId.
func bodies() map[string]string {
	return map[string]string{
		"putProjectSecret": `{"value":"stolen"}`,
		"setPool":          `{"slots":9}`,
		"completeUpload":   `{"tags":["stolen"]}`,
		"killAttempt":      `{}`,
		"holdPool":         `{}`,
		"releasePool":      `{}`,
		"disableSchedule":  `{}`,
		"holdBackfill":     `{}`,
		"releaseBackfill":  `{}`,
		"killBackfill":     `{}`,
		"retryNotice":      `{}`,
		"pauseAttempt":     `{"reason":"stolen"}`,
		"unpauseAttempt":   `{}`,
		"pauseProject":     `{"reason":"stolen"}`,
		"unpauseProject":   `{}`,
		"rerunAttempt":     `{"mode":"all","retryAttemptName":"stolen"}`,
		"forkAttempt":      `{"seq":1,"retryAttemptName":"stolen"}`,
		"skipSchedule":     `{"nextTime":"2040-01-01T00:00:00Z","dryRun":false}`,
		"backfillSchedule": `{"fromTime":"2030-01-01T00:00:00Z","attemptName":"stolen","count":1,"dryRun":false}`,
		"enableSchedule":   `{"skipSchedule":true,"nextTime":"2040-01-01T00:00:00Z"}`,
	}
}

// seen returns everything that a tenant can see of its own site.
func (v tenant) seen() string {
	var all strings.Builder
	for _, path := range []string{"/api/projects", "/api/projects/" + v.ids["projects"] + "/revisions", "/api/projects/" + v.ids["projects"] + "/secrets",
		"/api/workflows", "/api/sessions", "/api/attempts?include_retried=true", "/api/schedules", "/api/pools", "/api/backfills", "/api/x/notices", "/api/audit"} {
		all.Write(v.call(http.MethodGet, path, nil).content)
		all.WriteByte('\n')
	}
	return all.String()
}

// siteWide lists the endpoints that callers who may use only some projects may not call (server.md#who-may-call).
func siteWide() []string {
	return []string{"getTokens", "createToken", "deleteToken", "getAudit", "getLimits"}
}

// TestSites checks, for every endpoint that openapi.yaml names, that an administrator of one site can neither see nor
// change the objects of another site, and that one who may use only some projects cannot see or change those of others.
func TestSites(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]host.Token{
		"another site":    {Site: 2, Role: "admin"},
		"another project": {Site: 1, Role: "admin", Projects: []string{"strange"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _ := serveUploads(t, httpapi.Options{Auth: access.Auth{Required: true}, Admin: true,
				Backup: func(_ context.Context, w io.Writer) error { _, err := w.Write([]byte(marker)); return err }}, true)
			one := newTenant(caller{server, t, server.token(t, 1, "admin")})
			watch := one
			if len(token.Projects) > 0 {
				watch.token = server.tokenFor(t, host.Token{Site: 1, Role: "admin", Projects: []string{marker}})
			}
			before := watch.seen()
			if !strings.Contains(before, marker) {
				t.Fatalf("the tenant sees nothing of its own: %s", before)
			}
			isolated(t, one, caller{server, t, server.tokenFor(t, token)}, len(token.Projects) > 0)
			if diff := cmp.Diff(before, watch.seen()); diff != "" {
				t.Errorf("%s changed something:\n%s", name, diff)
			}
		})
	}
}

// isolated calls every endpoint as a stranger about the objects of a tenant. confined means that the stranger may use
// only some projects of the same site.
func isolated(t *testing.T, one tenant, stranger caller, confined bool) {
	t.Helper()
	server := one.running
	for pattern, item := range server.spec.Paths.Map() {
		for method, operation := range item.Operations() {
			path, body, want := one.fill(t, pattern), any(nil), http.StatusNotFound
			q, plain := one.questions()[operation.OperationID]
			switch {
			case strings.HasPrefix(pattern, "/api/admin/") && !server.deployed(), strings.Contains(pattern, "/{letter}"):
				want = http.StatusForbidden
			case strings.Contains(pattern, "{"):
				if b, ok := bodies()[operation.OperationID]; ok {
					body = b
				} else if operation.RequestBody != nil {
					t.Errorf("%s %s: say in bodies what it is called with", method, pattern)
				}
				if operation.OperationID == "setPool" { // a pool is always created in the caller's own site
					path += "?project=" + marker
					break
				}
				path += "?name=main&session_time=2024-01-01T00:00:00Z&from=2024-01-01T00:00:00Z"
			case !plain:
				t.Errorf("%s %s: say in questions what it is called with", method, pattern)
			default:
				path, body, want = path+"?"+q.query, q.body, q.want
			}
			if confined && slices.Contains(siteWide(), operation.OperationID) {
				want = http.StatusForbidden
			}
			if owner := one.caller; method == http.MethodGet && want == http.StatusNotFound && strings.Contains(pattern, "{") {
				if a := owner.call(method, path, nil); a.status != http.StatusOK && a.status != http.StatusSeeOther && !strings.HasPrefix(pattern, "/api/admin/") {
					t.Errorf("%s %s from its own site: %d %s", method, path, a.status, a.content)
				}
			}
			a := stranger.call(method, path, body)
			if a.status == http.StatusBadRequest || want != 0 && a.status != want {
				t.Errorf("%s %s by a stranger: %d %s, want %d", method, path, a.status, a.content, want)
			}
			if want == 0 && strings.Contains(string(a.content), marker) {
				t.Errorf("%s %s shows a stranger: %s", method, path, a.content)
			}
		}
	}
	resume := `{"workflowId":"` + stranger.first("/api/workflows?name_pattern=main")["id"].(string) +
		`","sessionTime":"2024-01-02T00:00:00Z","params":{},"resume":{"mode":"failed","attemptId":"` + one.ids["attempts"] + `"}}`
	if a := stranger.call(http.MethodPut, "/api/attempts", resume); a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
		t.Errorf("resume of another site's attempt: %d %s", a.status, a.content)
	}
}
