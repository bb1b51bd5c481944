package schedules

import (
	"net/http"
	"slices"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// Routes returns the routes of schedules, backfills and pools.
func Routes() []endpoint.Route {
	post := func(action, name, content string, serve endpoint.Handler) endpoint.Route {
		return endpoint.Route{Method: http.MethodPost, Path: "/api/schedules/{id}/" + action, Name: name, Role: access.Operator,
			Consumes: content, Change: action, Serve: serve}
	}
	list := []endpoint.Route{
		endpoint.Get("/api/projects/{id}/schedules", "getProjectSchedules", getProjectSchedules),
		endpoint.Get("/api/schedules", "getSchedules", getSchedules),
		endpoint.Get("/api/schedules/{id}", "getScheduleById", getSchedule),
		endpoint.Get("/api/x/overview", "getOverview", getOverview),
		endpoint.Get("/api/x/schedules/{id}/upcoming", "getUpcoming", getUpcoming),
		endpoint.Get("/api/x/schedules/{id}/dates", "getDates", getDates),
		post("skip", "skipSchedule", wire.JSONType, skipSchedule),
		post("backfill", "backfillSchedule", wire.JSONType, backfillSchedule),
		post("disable", "disableSchedule", "", disableSchedule),
		post("enable", "enableSchedule", "", enableSchedule),
		{Method: http.MethodPost, Path: "/api/import/schedules", Name: "importSchedules", Role: access.Owner,
			Consumes: wire.JSONType, Change: "import", Serve: importSchedules},
	}
	return slices.Concat(list, backfillRoutes(), poolRoutes())
}

// backfillRoutes returns the routes of backfills that are objects with an id; Digdag's backfills belong to its
// schedules.
func backfillRoutes() []endpoint.Route {
	post := func(action, name string, serve endpoint.Handler) endpoint.Route {
		return endpoint.Route{Method: http.MethodPost, Path: "/api/backfills/{id}/" + action, Name: name, Role: access.Operator,
			Change: action + " backfill", Serve: serve}
	}
	return []endpoint.Route{
		endpoint.Get("/api/backfills", "getBackfills", getBackfills),
		{Method: http.MethodPost, Path: "/api/backfills", Name: "startBackfill", Role: access.Operator,
			Consumes: wire.JSONType, Change: "start backfill", Serve: postBackfill},
		endpoint.Get("/api/backfills/{id}", "getBackfill", getBackfill),
		post("hold", "holdBackfill", func(c *endpoint.Call) (any, error) { return holdBackfill(c, true) }),
		post("release", "releaseBackfill", func(c *endpoint.Call) (any, error) { return holdBackfill(c, false) }),
		post("kill", "killBackfill", killBackfill),
	}
}

func poolRoutes() []endpoint.Route {
	return []endpoint.Route{
		endpoint.Get("/api/pools", "getPools", getPools),
		endpoint.Get("/api/pools/{name}", "getPool", getPool),
		{Method: http.MethodPut, Path: "/api/pools/{name}", Name: "setPool", Role: access.Admin,
			Consumes: wire.JSONType, Change: "set pool", Serve: putPool},
		{Method: http.MethodDelete, Path: "/api/pools/{name}", Name: "deletePool", Role: access.Admin,
			Change: "delete pool", Serve: deletePool},
		{Method: http.MethodPost, Path: "/api/pools/{name}/hold", Name: "holdPool", Role: access.Operator,
			Change: "hold pool", Serve: holdPool},
		{Method: http.MethodPost, Path: "/api/pools/{name}/release", Name: "releasePool", Role: access.Operator,
			Change: "release pool", Serve: releasePool},
	}
}
