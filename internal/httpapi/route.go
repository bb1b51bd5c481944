package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zerodag/internal/catalogue"
)

// kind says how long a request may take.
type kind int

const (
	plain    kind = iota
	transfer      // carries an archive or a log
	stream        // as long as both sides want
)

// route is one endpoint.
type route struct {
	method, path string
	name         string // suffix of its timer, as the original names it (wire.md 3.5)
	role         Role   // the least one that may call it: Owner for what crosses sites; 0 needs no authentication
	consumes     string // content type of its body; "" is any
	change       string // what the audit log calls it; "" only reads
	kind         kind
	apart        bool // on the administrators' listener only: elsewhere the path does not exist
	serve        func(*call) (any, error)
}

const (
	jsonType = "application/json"
	gzipType = "application/gzip"
)

// endpoints is the table of everything below /api.
func endpoints() []route {
	get := func(path, name string, f func(*call) (any, error)) route {
		return route{method: http.MethodGet, path: path, name: name, role: Viewer, serve: f}
	}
	list := []route{
		{method: http.MethodGet, path: "/api/version", name: "getVersion", serve: getVersion},
		get("/api/version/check", "checkClientVersion", checkVersion),
		get("/api/whoami", "getCaller", getCaller),

		get("/api/project", "getProject", getProjectByName),
		get("/api/projects", "getProjects", getProjects),
		{method: http.MethodPut, path: "/api/projects", name: "putProject", role: Admin, consumes: gzipType, change: catalogue.PushAction, kind: transfer, serve: putProject},
		get("/api/projects/{id}", "getProjectById", getProject),
		{method: http.MethodPost, path: "/api/uploads", name: "openUpload", role: Admin, consumes: jsonType, change: catalogue.PushAction, serve: postUpload},
		{method: http.MethodGet, path: "/api/uploads/{id}", name: "getUpload", role: Admin, serve: getUpload},
		{method: http.MethodPost, path: "/api/uploads/{id}/complete", name: "completeUpload", role: Admin, consumes: jsonType, change: catalogue.PushAction, serve: completeUpload},
		{method: http.MethodDelete, path: "/api/projects/{id}", name: "deleteProject", role: Admin, change: "delete project", serve: deleteProject},
		{method: http.MethodPost, path: "/api/projects/{id}/pause", name: "pauseProject", role: Operator, consumes: jsonType, change: "pause project", serve: pauseProject},
		{method: http.MethodPost, path: "/api/projects/{id}/unpause", name: "unpauseProject", role: Operator, consumes: jsonType, change: "unpause project", serve: unpauseProject},
		get("/api/projects/{id}/revisions", "getRevisions", getRevisions),
		get("/api/projects/{id}/workflow", "getWorkflow", getWorkflowByQuery),
		get("/api/projects/{id}/workflows", "getWorkflows", getProjectWorkflows),
		get("/api/projects/{id}/workflows/{name}", "getWorkflowByName", getWorkflowByName),
		get("/api/projects/{id}/schedules", "getProjectSchedules", getProjectSchedules),
		get("/api/projects/{id}/sessions", "getProjectSessions", getProjectSessions),
		{method: http.MethodGet, path: "/api/projects/{id}/archive", name: "getArchive", role: Viewer, kind: transfer, serve: getArchive},
		{method: http.MethodGet, path: "/api/projects/{id}/secrets", name: "getProjectSecretList", role: Operator, serve: getSecrets},
		{method: http.MethodPut, path: "/api/projects/{id}/secrets/{key}", name: "putProjectSecret", role: Admin, consumes: jsonType, change: "put secret", serve: putSecret},
		{method: http.MethodDelete, path: "/api/projects/{id}/secrets/{key}", name: "deleteProjectSecret", role: Admin, change: "delete secret", serve: deleteSecret},

		get("/api/workflow", "getWorkflowDefinition", getWorkflowDefinition),
		get("/api/workflows", "getWorkflowDefinitions", getWorkflows),
		get("/api/workflows/{id}", "getWorkflowDefinitionById", getWorkflow),
		get("/api/workflows/{id}/truncated_session_time", "getTruncatedSessionTime", getSessionTime),

		get("/api/sessions", "getSessions", getSessions),
		get("/api/sessions/{id}", "getSession", getSession),
		get("/api/sessions/{id}/attempts", "getSessionAttempts", getSessionAttempts),

		get("/api/attempts", "getAttempts", getAttempts),
		{method: http.MethodPut, path: "/api/attempts", name: "startAttempt", role: Operator, consumes: jsonType, change: "start", serve: startAttempt},
		get("/api/attempts/{id}", "getAttempt", getAttempt),
		get("/api/attempts/{id}/retries", "getAttemptRetries", getRetries),
		get("/api/attempts/{id}/tasks", "getTasks", getTasks),
		{method: http.MethodPost, path: "/api/attempts/{id}/pause", name: "pauseAttempt", role: Operator, consumes: jsonType, change: "pause", serve: pauseAttempt},
		{method: http.MethodPost, path: "/api/attempts/{id}/unpause", name: "unpauseAttempt", role: Operator, consumes: jsonType, change: "unpause", serve: unpauseAttempt},
		{method: http.MethodPost, path: "/api/attempts/{id}/kill", name: "killAttempt", role: Operator, consumes: jsonType, change: "kill", serve: killAttempt},
		{method: http.MethodGet, path: "/api/attempts/{id}/events", name: "getEvents", role: Viewer, kind: stream, serve: getEvents},
		get("/api/attempts/{id}/history", "getHistory", getHistory),
		get("/api/attempts/{id}/history/{seq}/tasks", "getHistoryTasks", getPastTasks),
		{method: http.MethodPost, path: "/api/attempts/{id}/fork", name: "forkAttempt", role: Operator, consumes: jsonType, change: "fork", serve: forkAttempt},

		get("/api/logs/{attempt_id}/files", "getFileHandles", getLogFiles),
		{method: http.MethodGet, path: "/api/logs/{attempt_id}/files/{file_name}", name: "getFile", role: Viewer, kind: transfer, serve: getLogFile},
	}
	return slices.Concat(list, scheduleEndpoints(), backfillEndpoints(), consoleEndpoints(), serverEndpoints())
}

// backfillEndpoints are those of backfills that are one thing: the original's are beside its schedules.
func backfillEndpoints() []route {
	post := func(action, name string, f func(*call) (any, error)) route {
		return route{method: http.MethodPost, path: "/api/backfills/{id}/" + action, name: name, role: Operator, change: action + " backfill", serve: f}
	}
	return []route{
		{method: http.MethodGet, path: "/api/backfills", name: "getBackfills", role: Viewer, serve: getBackfills},
		{method: http.MethodPost, path: "/api/backfills", name: "startBackfill", role: Operator, consumes: jsonType, change: "start backfill", serve: postBackfill},
		{method: http.MethodGet, path: "/api/backfills/{id}", name: "getBackfill", role: Viewer, serve: getBackfill},
		post("hold", "holdBackfill", func(c *call) (any, error) { return c.holdBackfill(true) }),
		post("release", "releaseBackfill", func(c *call) (any, error) { return c.holdBackfill(false) }),
		post("kill", "killBackfill", killBackfill),
	}
}

func scheduleEndpoints() []route {
	post := func(action, name, content string, f func(*call) (any, error)) route {
		return route{method: http.MethodPost, path: "/api/schedules/{id}/" + action, name: name, role: Operator, consumes: content, change: action, serve: f}
	}
	return []route{
		{method: http.MethodGet, path: "/api/schedules", name: "getSchedules", role: Viewer, serve: getSchedules},
		{method: http.MethodGet, path: "/api/schedules/{id}", name: "getScheduleById", role: Viewer, serve: getSchedule},
		post("skip", "skipSchedule", jsonType, skipSchedule),
		post("backfill", "backfillSchedule", jsonType, backfillSchedule),
		post("disable", "disableSchedule", "", disableSchedule),
		post("enable", "enableSchedule", "", enableSchedule),
	}
}

// consoleEndpoints are those that a page of pictures needs beside the original's: bounded in rows and bytes, so that
// a function can answer. A reader of the original's paths never meets them.
func consoleEndpoints() []route {
	get := func(path, name string, f func(*call) (any, error)) route {
		return route{method: http.MethodGet, path: "/api/x/" + path, name: name, role: Viewer, serve: f}
	}
	following := get("attempts/{id}/changes", "getChanges", getChanges)
	following.kind = stream
	text := get("logs/{attempt_id}/files/{file_name}", "getLogText", getLogText)
	text.kind = transfer
	return []route{
		{method: http.MethodGet, path: "/api/x/session", name: "getSignIn", serve: getSignIn},
		{method: http.MethodPost, path: "/api/x/session", name: "signIn", consumes: jsonType, serve: signIn},
		{method: http.MethodDelete, path: "/api/x/session", name: "signOut", serve: signOut},
		{method: http.MethodGet, path: leavePath, name: "leaveToSignIn", serve: getOIDC},
		{method: http.MethodGet, path: CallbackPath, name: "comeBackSignedIn", serve: getCallback},
		get("overview", "getOverview", getOverview),
		get("sessions", "findSessions", findSessions),
		get("search", "search", search),
		get("workflows/{id}/grid", "getGrid", getGrid),
		get("workflows/{id}/plan", "getPlan", getPlan),
		get("schedules/{id}/upcoming", "getUpcoming", getUpcoming),
		get("schedules/{id}/dates", "getDates", getDates),
		get("projects/{id}/files", "getFiles", getFiles),
		get("projects/{id}/files/{path}", "getFileText", getFileText),
		{method: http.MethodPost, path: "/api/x/check", name: "checkFiles", role: Viewer, consumes: jsonType, serve: checkFiles},
		{method: http.MethodPost, path: "/api/x/start-check", name: "checkStart", role: Operator, consumes: jsonType, serve: checkStart},
		{method: http.MethodPost, path: "/api/x/attempts/{id}/rerun", name: "rerunAttempt", role: Operator, consumes: jsonType, change: "rerun", serve: rerunAttempt},
		get("attempts/{id}/comparison", "getComparison", getComparison),
		get("attempts/{id}/cause", "getCause", getCause),
		get("attempts/{id}/outline", "getOutline", getOutline),
		following,
		get("attempts/{id}/tasks/{task_id}", "getTask", getTask),
		text,
		{method: http.MethodGet, path: "/api/x/admin/limits", name: "getLimits", role: Admin, serve: getLimits},
		{method: http.MethodGet, path: "/api/x/admin/sites", name: "getSites", role: Owner, serve: getSites},
		{method: http.MethodGet, path: "/api/x/admin/queue", name: "getQueue", role: Owner, serve: getQueue},
		{method: http.MethodGet, path: "/api/x/admin/dead-letters", name: "getDeadLetters", role: Owner, serve: getLetters},
		{method: http.MethodGet, path: "/api/x/admin/dead-letters/{letter}", name: "getDeadLetter", role: Owner, serve: getLetter},
		{method: http.MethodPost, path: "/api/x/admin/dead-letters/{letter}/redrive", name: "redriveDeadLetter", role: Owner, change: "redrive", serve: redriveLetter},
	}
}

func serverEndpoints() []route {
	return []route{
		{method: http.MethodGet, path: "/api/health", name: "getHealth", serve: getHealth},
		{method: http.MethodGet, path: "/api/metrics", name: "getMetrics", role: Owner, serve: getMetrics},
		{method: http.MethodGet, path: "/api/openapi.yaml", name: "getOpenAPI", role: Viewer, serve: getOpenAPI},
		{method: http.MethodGet, path: "/api/tokens", name: "getTokens", role: Admin, serve: getTokens},
		{method: http.MethodPost, path: "/api/tokens", name: "createToken", role: Admin, consumes: jsonType, change: "create token", serve: createToken},
		{method: http.MethodDelete, path: "/api/tokens/{id}", name: "deleteToken", role: Admin, change: "revoke token", serve: revokeToken},
		{method: http.MethodGet, path: "/api/pools", name: "getPools", role: Viewer, serve: getPools},
		{method: http.MethodGet, path: "/api/pools/{name}", name: "getPool", role: Viewer, serve: getPool},
		{method: http.MethodPut, path: "/api/pools/{name}", name: "setPool", role: Admin, consumes: jsonType, change: "set pool", serve: putPool},
		{method: http.MethodDelete, path: "/api/pools/{name}", name: "deletePool", role: Admin, change: "delete pool", serve: deletePool},
		{method: http.MethodPost, path: "/api/pools/{name}/hold", name: "holdPool", role: Operator, change: "hold pool", serve: holdPool},
		{method: http.MethodPost, path: "/api/pools/{name}/release", name: "releasePool", role: Operator, change: "release pool", serve: releasePool},
		{method: http.MethodGet, path: "/api/backup", name: "getBackup", role: Owner, kind: transfer, serve: getBackup},
		{method: http.MethodPost, path: "/api/redrive", name: "redrive", role: Owner, change: "redrive", serve: redrive},
		{method: http.MethodPost, path: "/api/revive", name: "revive", role: Owner, change: "revive", serve: revive},
		{method: http.MethodGet, path: "/api/audit", name: "getAudit", role: Admin, serve: getAudit},
		{method: http.MethodGet, path: "/api/admin/attempts/{id}/userinfo", name: "getUserInfo", role: Owner, apart: true, serve: getUserInfo},
	}
}

// resource is a path with its methods.
type resource struct {
	segments []string
	methods  map[string]*route
}

// routes holds resources by their number of segments.
type routes map[int][]*resource

func newRoutes(list []route) routes {
	byPath, rs := map[string]*resource{}, routes{}
	for i := range list {
		rt := &list[i]
		res := byPath[rt.path]
		if res == nil {
			res = &resource{segments: strings.Split(rt.path, "/"), methods: map[string]*route{}}
			byPath[rt.path] = res
			rs[len(res.segments)] = append(rs[len(res.segments)], res)
		}
		res.methods[rt.method] = rt
	}
	return rs
}

// find returns the resource of an escaped path and its variables; nil for none. A name at the end of
// a path may have slashes: gateways decode the path before we see it (docs/aws.md).
func (rs routes) find(path string) (*resource, map[string]string) {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil {
			return nil, nil
		}
		segments[i] = text
	}
	for _, res := range rs[len(segments)] {
		if vars, ok := res.match(segments); ok {
			return res, vars
		}
	}
	for n := len(segments) - 1; n > 0; n-- {
		joined := append(slices.Clone(segments[:n-1]), strings.Join(segments[n-1:], "/"))
		for _, res := range rs[n] {
			if vars, ok := res.match(joined); ok && res.endsWithName() {
				return res, vars
			}
		}
	}
	return nil, nil
}

// endsWithName says that the last segment is a name that users chose, and no number.
func (res *resource) endsWithName() bool {
	last := res.segments[len(res.segments)-1]
	return strings.HasPrefix(last, "{") && !strings.HasSuffix(last, "id}")
}

func (res *resource) match(segments []string) (map[string]string, bool) {
	vars := map[string]string{}
	for i, s := range res.segments {
		switch {
		case strings.HasPrefix(s, "{"):
			vars[strings.Trim(s, "{}")] = segments[i]
		case s != segments[i]:
			return nil, false
		}
	}
	return vars, true
}

// route returns the endpoint of a method; HEAD is a GET whose body is not sent.
func (res *resource) route(method string) *route {
	if res == nil {
		return nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return res.methods[method]
}

// open says whether a method may be called without authentication.
func (res *resource) open(method string) bool {
	rt := res.route(method)
	return rt != nil && rt.role == 0
}

// allow lists the methods as the original does: its order is that of a Java hash set.
func (res *resource) allow() string {
	var list []string
	for _, m := range []string{"HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT"} {
		if m == "OPTIONS" || res.route(m) != nil {
			list = append(list, m)
		}
	}
	return strings.Join(list, ", ")
}
