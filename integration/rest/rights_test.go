package rest_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// marker is part of the name of every project that a caller may not see.
const marker = "isolated"

// tenant holds the objects of one project, and of its site.
type tenant struct {
	caller        // an administrator of the site
	name   string // of the project
	site   int64
	ids    map[string]string // by the resource that a path begins with
}

func newTenant(c caller, site int64, name string) tenant {
	if c.deployed() {
		site += c.site
	}
	c.must(http.MethodPut, "/api/projects?project="+name+"&revision="+name+"1&schedule_from=2030-01-01T00:00:00Z", archive(map[string]string{
		"main.dig":  "+a:\n  echo>: hello\n",
		"sched.dig": "schedule:\n  daily>: 07:00:00\n+a:\n  echo>: s\n",
	}))
	p := c.must(http.MethodGet, "/api/project?name="+name, nil)["id"].(string)
	c.must(http.MethodPut, "/api/projects/"+p+"/secrets/"+name+".key", `{"value":"v"}`)
	c.must(http.MethodPut, "/api/secrets/"+name+".key", `{"value":"v","projects":["`+name+`"]}`)
	c.must(http.MethodPut, "/api/pools/main?project="+name, `{"slots":1}`)
	c.must(http.MethodPut, "/api/pools/main", `{"slots":1}`)
	w := c.must(http.MethodGet, "/api/workflow?name=main&project="+name, nil)["id"].(string)
	filled := c.must(http.MethodPost, "/api/backfills", `{"workflowId":"`+w+`","dates":["2024-01-01"],"name":"`+name+`"}`)["backfill"].(map[string]any)["id"].(string)
	c.until("/api/backfills/"+filled, `"finishedAt":"`)
	a := c.run(name, "main")
	notice := "1" // a deployed stack keeps none
	if !c.deployed() {
		number, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		kept := host.StoredNotice{Key: fmt.Sprint(site, name), Channel: name, Site: site, Attempt: number, Project: name, Message: name, Body: []byte(`{}`), CreatedAt: time.Now(), Since: time.Now(), GivenUpAt: time.Now(), Error: name}
		if err := c.engine.DB.PutNotices(c.t.Context(), time.Now(), host.NoticeBatch{Notices: []host.StoredNotice{kept}}); err != nil {
			c.t.Fatal(err)
		}
		notice = c.first("/api/x/notices?attempt=" + a)["id"].(string)
	}
	upload, _ := c.open("project="+name+"&revision="+name+"2", c.project())
	of := "/api/projects/" + p
	return tenant{c, name, site, map[string]string{
		"projects": p, "attempts": a, "logs": a, "admin": a, "workflows": w,
		"sessions":  c.first(of + "/sessions")["id"].(string),
		"schedules": c.first(of + "/schedules")["id"].(string),
		"tokens":    c.must(http.MethodPost, "/api/tokens", `{"name":"`+name+`","role":"viewer"}`)["id"].(string),
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
			segments[i] = v.name + ".key"
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

// asked is a request to an endpoint without IDs in its path. want is the status that denies it to a caller who may not
// use the tenant's project, or 0 if the response merely must not show anything.
type asked struct {
	query string
	body  any
	want  int
}

// number returns the number of the tenant's site.
func (v tenant) number() string { return strconv.FormatInt(v.site, 10) }

func (v tenant) questions() map[string]asked {
	start := `{"workflowId":"` + v.ids["workflows"] + `","sessionTime":"2024-05-05T00:00:00Z","params":{}}`
	return map[string]asked{
		"getVersion": {}, "getCaller": {}, "getHealth": {}, "getLive": {}, "getReady": {}, "getMetrics": {}, "getOpenAPI": {}, "checkClientVersion": {query: "client=1"},
		"getProject":             {query: "name=" + v.name, want: 404},
		"getProjects":            {query: "name_pattern=" + v.name},
		"getWorkflowDefinition":  {query: "project=" + v.name + "&name=main", want: 404},
		"getWorkflowDefinitions": {query: "search_project_name=true&name_pattern=" + v.name},
		"getSessions":            {},
		"getAttempts":            {query: "project=" + v.name, want: 404},
		"startAttempt":           {body: start, want: 404},
		"getBackfills":           {},
		"startBackfill":          {body: `{"workflowId":"` + v.ids["workflows"] + `","dates":["2024-05-05"]}`, want: 404},
		"getSchedules":           {},
		"getOverview":            {query: "seen=0"},
		"checkStart":             {body: start, want: 404},
		"checkFiles":             {body: `{"files":{"a.dig":"+a: {require>: main, project_name: ` + v.name + `}"}}`},
		"search":                 {query: "q=" + v.ids["attempts"]},
		"getSignIn":              {},
		"signIn":                 {body: `{"token":"` + v.name + `"}`, want: 401},
		"signOut":                {want: 204},
		"leaveToSignIn":          {want: 404},
		"comeBackSignedIn":       {want: 404},
		"findSessions":           {query: "count=200"},
		"getTokens":              {query: "site=" + v.number(), want: 403},
		"createToken":            {body: `{"name":"x","role":"admin","site":` + v.number() + `}`, want: 403},
		"getAudit":               {},
		"getPools":               {},
		"getSiteSecrets":         {},
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
		"getAlerts":              {want: 403},
		"putProject":             {query: "project=" + v.name + "&revision=r", body: v.project(), want: 404},
		"openUpload":             {query: "project=" + v.name + "&revision=s", body: announce(v.project()), want: 404},
	}
}

// bodies returns the request bodies of endpoints with an ID in their path, by operationId.
func bodies() map[string]string {
	return map[string]string{
		"putSiteSecret":     `{"value":"stolen"}`,
		"putProjectSecret":  `{"value":"stolen"}`,
		"setPool":           `{"slots":9}`,
		"completeUpload":    `{"tags":["stolen"]}`,
		"killAttempt":       `{}`,
		"holdPool":          `{}`,
		"releasePool":       `{}`,
		"disableSchedule":   `{}`,
		"holdBackfill":      `{}`,
		"releaseBackfill":   `{}`,
		"killBackfill":      `{}`,
		"retryNotice":       `{}`,
		"testAlert":         `{}`,
		"redriveDeadLetter": `{}`,
		"pauseAttempt":      `{"reason":"stolen"}`,
		"unpauseAttempt":    `{}`,
		"pauseProject":      `{"reason":"stolen"}`,
		"unpauseProject":    `{}`,
		"rerunAttempt":      `{"mode":"all","retryAttemptName":"stolen"}`,
		"forkAttempt":       `{"seq":1,"retryAttemptName":"stolen"}`,
		"skipSchedule":      `{"nextTime":"2040-01-01T00:00:00Z","dryRun":false}`,
		"backfillSchedule":  `{"fromTime":"2030-01-01T00:00:00Z","attemptName":"stolen","count":1,"dryRun":false}`,
		"enableSchedule":    `{"skipSchedule":true,"nextTime":"2040-01-01T00:00:00Z"}`,
	}
}

// seen returns everything that an administrator sees of the tenant's site, except for the audit log, which records
// refusals.
func (v tenant) seen() string {
	var all strings.Builder
	for _, path := range []string{"/api/projects", "/api/projects/" + v.ids["projects"] + "/revisions", "/api/projects/" + v.ids["projects"] + "/secrets",
		"/api/workflows", "/api/sessions", "/api/attempts?include_retried=true", "/api/schedules", "/api/pools", "/api/backfills", "/api/x/notices", "/api/tokens", "/api/secrets"} {
		all.Write(v.call(http.MethodGet, path, nil).content)
		all.WriteByte('\n')
	}
	return regexp.MustCompile(`"lastUsedAt":(null|"[^"]*")`).ReplaceAllString(all.String(), "")
}

// leastRole returns the lowest role that may call each endpoint, by operationId; "" means that no authentication is
// needed. It is written by hand, because the table in docs/server.md is generated from the server's code.
func leastRole() map[string]string {
	all := map[string]string{}
	for role, names := range map[string]string{
		"":        "getVersion getHealth getLive getReady getSignIn signIn signOut leaveToSignIn comeBackSignedIn",
		"metrics": "getMetrics",
		"viewer": `getProject getProjects getProjectById getRevisions getWorkflow getWorkflows getWorkflowByName getArchive
			getWorkflowDefinition getWorkflowDefinitions getWorkflowDefinitionById getTruncatedSessionTime getGrid getPlan getFiles getFileText checkFiles
			getProjectSessions getSessions getSession getSessionAttempts getAttempts getAttempt getAttemptRetries getTasks getEvents getHistory getHistoryTasks
			getFileHandles getFile findSessions search getComparison getCause getOutline getTask getChanges getLogText
			getProjectSchedules getSchedules getScheduleById getOverview getUpcoming getDates getBackfills getBackfill getPools getPool
			checkClientVersion getCaller getNotices getOpenAPI`,
		"operator": `startAttempt killAttempt pauseAttempt unpauseAttempt pauseProject unpauseProject forkAttempt rerunAttempt checkStart
			skipSchedule backfillSchedule disableSchedule enableSchedule startBackfill holdBackfill releaseBackfill killBackfill
			holdPool releasePool getProjectSecretList getSiteSecrets retryNotice retryNotices`,
		"developer": "putProject deleteProject openUpload getUpload completeUpload",
		"admin": `putProjectSecret deleteProjectSecret putSiteSecret deleteSiteSecret
			getTokens createToken deleteToken getAudit getLimits setPool deletePool`,
		"owner": `getBackup redrive revive getSites getServers getQueue getDeadLetters getDeadLetter redriveDeadLetter rekey
			importAttempts importSchedules getUserInfo getAlerts testAlert`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = role
		}
	}
	return all
}

// siteWide lists the endpoints that callers who may use only some projects may not call (server.md#who-may-call).
func siteWide() []string {
	return []string{"getTokens", "createToken", "deleteToken", "getAudit", "getLimits", "getMetrics", "putSiteSecret", "deleteSiteSecret"}
}

// lastChanges lists the changes that leave nothing for other changes to work on, in the order in which they are made.
func lastChanges() []string {
	return []string{"retryNotices", "deletePool", "deleteSiteSecret", "deleteProjectSecret", "deleteToken", "deleteProject"}
}

// nothingThere lists the endpoints that find nothing even for callers who may call them: this server has no identity
// provider, no dead letters and no keys of secrets, and a deployed stack keeps no notices.
func (c rights) nothingThere() []string {
	list := []string{"leaveToSignIn", "comeBackSignedIn", "signIn", "getDeadLetters", "getDeadLetter", "redriveDeadLetter", "redrive", "rekey"}
	if c.deployed() {
		list = append(list, "getNotices", "retryNotice", "retryNotices")
	}
	return list
}

// onlyOwn lists the endpoints that always act in the caller's own site: they create what they name, or take no name.
func onlyOwn() []string {
	return []string{"putProject", "openUpload", "retryNotices", "putSiteSecret", "deleteSiteSecret"}
}

// TestRights calls each endpoint in openapi.yaml with each role, with and without a limit to one project. The requests
// concern the caller's project, another project of the site if the caller is limited, and another site. TestRights
// checks who is refused and how, that refused requests change nothing, and that lists show nothing of other tenants.
func TestRights(t *testing.T) {
	t.Parallel()
	server, _ := serveUploads(t, httpapi.Options{Auth: access.Auth{Required: true}, Admin: true,
		Backup: func(_ context.Context, w io.Writer) error { _, err := w.Write([]byte("backup")); return err }}, true)
	const foreign = 1000
	other := newTenant(caller{server, t, server.token(t, foreign, "admin")}, foreign, marker)
	before := other.seen()
	t.Run("callers", func(t *testing.T) { callers(t, server, other) })
	if diff := gocmp.Diff(before, other.seen()); diff != "" {
		t.Errorf("callers of other sites changed something:\n%s", diff)
	}
}

// callers runs a test for each caller, who has a separate site.
func callers(t *testing.T, server *running, other tenant) {
	t.Helper()
	for i, token := range []host.Token{
		{}, {Role: "metrics"}, {Role: "viewer"}, {Role: "operator"}, {Role: "developer"}, {Role: "admin"}, {Role: "owner"},
		{Role: "viewer", Projects: []string{"own"}}, {Role: "operator", Projects: []string{"own"}}, {Role: "developer", Projects: []string{"own"}}, {Role: "admin", Projects: []string{"own"}},
	} {
		name := cmp.Or(token.Role, "none")
		if len(token.Projects) > 0 {
			name += " of one project"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if token.Role == "owner" && server.deployed() {
				t.Skip("NOT RUN on a deployed stack: an owner there is who signs")
			}
			token.Site = int64(i + 1)
			c := rights{caller: caller{server, t, ""}, role: token.Role, limited: len(token.Projects) > 0}
			if token.Role != "" {
				c.token = server.tokenFor(t, token)
			}
			admin := caller{server, t, server.token(t, token.Site, "admin")}
			c.about = append(c.about, newTenant(admin, token.Site, "own"))
			if c.limited {
				c.about = append(c.about, newTenant(admin, token.Site, marker))
			}
			foreign := other
			foreign.t = t
			if token.Role == "owner" { // may change every site
				foreign = newTenant(caller{server, t, server.token(t, 1001, "admin")}, 1001, marker)
			}
			c.about = append(c.about, foreign)
			c.check(t)
		})
	}
}

// rights checks the rights of one caller.
type rights struct {
	caller
	role    string   // "" for a caller without a login
	limited bool     // to the first tenant's project
	about   []tenant // the caller's project, and others that they may not see
}

// cell is one endpoint called about one tenant.
type cell struct {
	method, pattern, name string
	tenant                tenant
	own                   bool
}

// check makes the requests that must be refused, then the requests that may not show anything, then the permitted ones.
func (c rights) check(t *testing.T) {
	t.Helper()
	hidden := c.about[1]
	if c.limited {
		hidden.token = c.tokenFor(t, host.Token{Site: hidden.site, Role: "admin", Projects: []string{hidden.name}})
	}
	unseen := hidden.seen()
	var refused, allowed []cell
	for pattern, item := range c.spec.Paths.Map() {
		for method, operation := range item.Operations() {
			for i, v := range c.about {
				switch x := (cell{method, pattern, operation.OperationID, v, i == 0}); {
				case c.refusal(t, x) != 0:
					refused = append(refused, x)
				case x.own || !slices.Contains(onlyOwn(), x.name):
					allowed = append(allowed, x)
				}
			}
		}
	}
	if all := len(refused) + len(allowed); all < 200 {
		t.Fatalf("only %d requests", all)
	}
	home := c.about[0]
	before := home.seen()
	if !strings.Contains(before, home.name) {
		t.Fatalf("the tenant sees nothing of its own: %s", before)
	}
	for _, x := range refused {
		want := c.refusal(t, x)
		path, body := c.request(t, x)
		a := c.call(x.method, path, body)
		if c.deployed() && strings.HasPrefix(x.pattern, "/api/admin/") && a.status == http.StatusNotFound {
			continue // a deployed stack has no listener of administrators
		}
		if a.status != want {
			t.Errorf("%s %s: %d %s, want %d", x.method, path, a.status, a.content, want)
		}
	}
	if slices.Contains([]string{"operator", "developer", "admin"}, c.role) {
		c.resumesNone(t)
	}
	if diff := gocmp.Diff(before, home.seen()); diff != "" {
		t.Errorf("a refused request changed something:\n%s", diff)
	}
	slices.SortStableFunc(allowed, func(a, b cell) int { return cmp.Compare(a.turn(), b.turn()) })
	for _, x := range allowed {
		path, body := c.request(t, x)
		a := c.call(x.method, path, body)
		switch denied := a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status == http.StatusNotFound; {
		case x.own && denied && !slices.Contains(c.nothingThere(), x.name), a.status == http.StatusInternalServerError:
			t.Errorf("%s %s: %d %s, but it is permitted", x.method, path, a.status, a.content)
		case !x.own && !c.everywhere(x) && strings.Contains(string(a.content), marker):
			t.Errorf("%s %s shows what the caller may not see: %s", x.method, path, a.content)
		}
	}
	if diff := gocmp.Diff(unseen, hidden.seen()); diff != "" && c.role != "owner" {
		t.Errorf("something changed that the caller may not see:\n%s", diff)
	}
}

// turn orders permitted requests: first requests about other tenants, then reads, then changes, then removals.
func (x cell) turn() int {
	last := slices.Index(lastChanges(), x.name)
	switch {
	case !x.own && x.method == http.MethodGet:
		return 0
	case !x.own:
		return 1
	case x.method == http.MethodGet:
		return 2
	}
	return 4 + last
}

// refusal returns the status with which an endpoint refuses the caller; 0 if it does not.
func (c rights) refusal(t *testing.T, x cell) int {
	t.Helper()
	roles := []string{"", "metrics", "viewer", "operator", "developer", "admin", "owner"}
	least, known := leastRole()[x.name]
	question, plain := x.tenant.questions()[x.name]
	switch inPath := strings.Contains(x.pattern, "{"); {
	case !known:
		t.Fatalf("%s %s: say in leastRole who may call %s", x.method, x.pattern, x.name)
	case !inPath && !plain:
		t.Fatalf("%s %s: say in questions what it is called with", x.method, x.pattern)
	case least == "":
		return 0
	case c.role == "":
		return http.StatusUnauthorized
	case slices.Index(roles, c.role) < slices.Index(roles, least), c.limited && slices.Contains(siteWide(), x.name):
		return http.StatusForbidden
	case x.own, least == "owner":
		return 0 // an owner acts on all sites
	case c.everywhere(x), !c.limited && slices.Contains(onlyOwn(), x.name):
		return 0
	case plain:
		return question.want
	}
	return http.StatusNotFound
}

// everywhere reports whether an endpoint shows the caller all sites, or the one that the request names.
func (c rights) everywhere(x cell) bool {
	if x.name == "getMetrics" {
		return c.role == "metrics" || c.role == "owner"
	}
	return c.role == "owner" && slices.Contains([]string{"getTokens", "createToken", "getSites", "getQueue"}, x.name)
}

// request returns the path and the body with which an endpoint is called.
func (c rights) request(t *testing.T, x cell) (path string, body any) {
	t.Helper()
	path = x.tenant.fill(t, x.pattern)
	if q, plain := x.tenant.questions()[x.name]; plain {
		return path + "?" + q.query, q.body
	}
	if b, ok := bodies()[x.name]; ok {
		body = b
	} else if operation := c.spec.Paths.Value(x.pattern).GetOperation(x.method); operation.RequestBody != nil {
		t.Errorf("%s %s: say in bodies what it is called with", x.method, x.pattern)
	}
	if strings.HasPrefix(x.pattern, "/api/pools/") {
		return path + "?project=" + x.tenant.name, body
	}
	return path + "?name=main&session_time=2024-01-01T00:00:00Z&from=2024-01-01T00:00:00Z", body
}

// resumesNone checks that the caller's workflow cannot resume an attempt of a project that the caller may not see.
func (c rights) resumesNone(t *testing.T) {
	t.Helper()
	for _, v := range c.about[1:] {
		resume := `{"workflowId":"` + c.about[0].ids["workflows"] + `","sessionTime":"2024-01-09T00:00:00Z","params":{},"resume":{"mode":"failed","attemptId":"` + v.ids["attempts"] + `"}}`
		if a := c.call(http.MethodPut, "/api/attempts", resume); a.status != http.StatusNotFound {
			t.Errorf("resume of attempt %s of site %d: %d %s", v.ids["attempts"], v.site, a.status, a.content)
		}
	}
}
