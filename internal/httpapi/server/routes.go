package server

import (
	"net/http"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// Routes returns the routes of the server and of its users.
func (r *Room) Routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: http.MethodGet, Path: "/api/version", Name: "getVersion", Serve: getVersion},
		endpoint.Get("/api/version/check", "checkClientVersion", r.checkVersion),
		endpoint.Get("/api/whoami", "getCaller", getCaller),
		{Method: http.MethodGet, Path: "/api/x/admin/limits", Name: "getLimits", Role: access.Admin, Site: true, Serve: getLimits},
		{Method: http.MethodGet, Path: "/api/x/admin/sites", Name: "getSites", Role: access.Owner, Serve: getSites},
		{Method: http.MethodGet, Path: "/api/x/admin/servers", Name: "getServers", Role: access.Owner, Serve: getServers},
		{Method: http.MethodGet, Path: "/api/x/admin/queue", Name: "getQueue", Role: access.Owner, Serve: getQueue},
		{Method: http.MethodGet, Path: "/api/x/admin/dead-letters", Name: "getDeadLetters", Role: access.Owner,
			Serve: getLetters},
		{Method: http.MethodGet, Path: "/api/x/admin/dead-letters/{letter}", Name: "getDeadLetter", Role: access.Owner,
			Serve: getLetter},
		{Method: http.MethodPost, Path: "/api/x/admin/dead-letters/{letter}/redrive", Name: "redriveDeadLetter", Role: access.Owner,
			Change: "redrive", Serve: redriveLetter},
		endpoint.Get("/api/x/notices", "getNotices", getNotices),
		{Method: http.MethodPost, Path: "/api/x/notices/retry", Name: "retryNotices", Role: access.Operator,
			Change: "retry notifications", Serve: retryNotices},
		{Method: http.MethodPost, Path: "/api/x/notices/{id}/retry", Name: "retryNotice", Role: access.Operator,
			Change: "retry notification", Serve: retryNotice},
		{Method: http.MethodGet, Path: "/api/x/alerts", Name: "getAlerts", Role: access.Owner, Serve: getAlerts},
		{Method: http.MethodPost, Path: "/api/x/alerts/{name}/test", Name: "testAlert", Role: access.Owner,
			Change: "test alert", Serve: testAlert},
		{Method: http.MethodGet, Path: "/api/health", Name: "getHealth", Serve: r.getHealth},
		{Method: http.MethodGet, Path: endpoint.Live, Name: "getLive", Serve: getLive},
		{Method: http.MethodGet, Path: endpoint.Ready, Name: "getReady", Serve: r.getHealth},
		{Method: http.MethodGet, Path: "/api/metrics", Name: "getMetrics", Role: access.Metrics, Site: true, Serve: r.getMetrics},
		endpoint.Get("/api/openapi.yaml", "getOpenAPI", getOpenAPI),
		{Method: http.MethodGet, Path: "/api/tokens", Name: "getTokens", Role: access.Admin, Site: true, Serve: getTokens},
		{Method: http.MethodPost, Path: "/api/tokens", Name: "createToken", Role: access.Admin, Site: true,
			Consumes: wire.JSONType, Change: "create token", Serve: createToken},
		{Method: http.MethodDelete, Path: "/api/tokens/{id}", Name: "deleteToken", Role: access.Admin, Site: true,
			Change: "revoke token", Serve: revokeToken},
		{Method: http.MethodGet, Path: "/api/backup", Name: "getBackup", Role: access.Owner,
			Kind: endpoint.Transfer, Serve: getBackup},
		{Method: http.MethodPost, Path: "/api/x/admin/rekey", Name: "rekey", Role: access.Owner,
			Change: "rekey secrets", Serve: rekey},
		{Method: http.MethodPost, Path: "/api/redrive", Name: "redrive", Role: access.Owner,
			Change: "redrive", Serve: redrive},
		{Method: http.MethodPost, Path: "/api/revive", Name: "revive", Role: access.Owner, Change: "revive", Serve: revive},
		{Method: http.MethodGet, Path: "/api/audit", Name: "getAudit", Role: access.Admin, Site: true, Serve: getAudit},
		{Method: http.MethodGet, Path: "/api/admin/attempts/{id}/userinfo", Name: "getUserInfo", Role: access.Owner,
			Apart: true, Serve: getUserInfo},
	}
}
