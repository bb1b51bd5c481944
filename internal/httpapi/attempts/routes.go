package attempts

import (
	"net/http"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// Routes returns the routes of sessions and their attempts.
func Routes() []endpoint.Route {
	return []endpoint.Route{
		endpoint.Get("/api/projects/{id}/sessions", "getProjectSessions", getProjectSessions),
		endpoint.Get("/api/sessions", "getSessions", getSessions),
		endpoint.Get("/api/sessions/{id}", "getSession", getSession),
		endpoint.Get("/api/sessions/{id}/attempts", "getSessionAttempts", getSessionAttempts),
		endpoint.Get("/api/attempts", "getAttempts", getAttempts),
		{Method: http.MethodPut, Path: "/api/attempts", Name: "startAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "start", Serve: startAttempt},
		endpoint.Get("/api/attempts/{id}", "getAttempt", getAttempt),
		endpoint.Get("/api/attempts/{id}/retries", "getAttemptRetries", getRetries),
		endpoint.Get("/api/attempts/{id}/tasks", "getTasks", getTasks),
		{Method: http.MethodPost, Path: "/api/attempts/{id}/pause", Name: "pauseAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "pause", Serve: pauseAttempt},
		{Method: http.MethodPost, Path: "/api/attempts/{id}/unpause", Name: "unpauseAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "unpause", Serve: unpauseAttempt},
		{Method: http.MethodPost, Path: "/api/attempts/{id}/kill", Name: "killAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "kill", Serve: killAttempt},
		{Method: http.MethodGet, Path: "/api/attempts/{id}/events", Name: "getEvents", Role: access.Viewer,
			Kind: endpoint.Stream, Serve: getEvents},
		endpoint.Get("/api/attempts/{id}/history", "getHistory", getHistory),
		endpoint.Read("/api/attempts/{id}/history/{seq}/tasks", "getHistoryTasks", getPastTasks),
		{Method: http.MethodPost, Path: "/api/attempts/{id}/fork", Name: "forkAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "fork", Serve: forkAttempt},
		{Method: http.MethodPost, Path: "/api/import/attempts", Name: "importAttempts", Role: access.Owner,
			Consumes: wire.JSONType, Change: "import", Serve: importAttempts},
		endpoint.Get("/api/logs/{attempt_id}/files", "getFileHandles", getLogFiles),
		{Method: http.MethodGet, Path: "/api/logs/{attempt_id}/files/{file_name}", Name: "getFile", Role: access.Viewer,
			Kind: endpoint.Transfer, Serve: getLogFile},
		endpoint.Read("/api/x/sessions", "findSessions", findSessions),
		endpoint.Read("/api/x/search", "search", search),
		{Method: http.MethodPost, Path: "/api/x/start-check", Name: "checkStart", Role: access.Operator,
			Consumes: wire.JSONType, Serve: checkStart},
		{Method: http.MethodPost, Path: "/api/x/attempts/{id}/rerun", Name: "rerunAttempt", Role: access.Operator,
			Consumes: wire.JSONType, Change: "rerun", Serve: rerunAttempt},
		endpoint.Read("/api/x/attempts/{id}/comparison", "getComparison", getComparison),
		endpoint.Read("/api/x/attempts/{id}/cause", "getCause", getCause),
		endpoint.Get("/api/x/attempts/{id}/outline", "getOutline", getOutline),
		endpoint.Get("/api/x/attempts/{id}/tasks/{task_id}", "getTask", getTask),
		{Method: http.MethodGet, Path: "/api/x/attempts/{id}/changes", Name: "getChanges", Role: access.Viewer,
			Kind: endpoint.Stream, Serve: getChanges},
		{Method: http.MethodGet, Path: "/api/x/logs/{attempt_id}/files/{file_name}", Name: "getLogText", Role: access.Viewer,
			Kind: endpoint.Transfer, Serve: getLogText},
	}
}
