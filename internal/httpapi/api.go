package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/attempts"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/projects"
	"zerodag/internal/httpapi/schedules"
	"zerodag/internal/httpapi/server"
	"zerodag/internal/httpapi/signin"
)

// Options are the dependencies and settings of an API.
type Options = endpoint.Options

// Limits are the request limits.
type Limits = endpoint.Limits

// api is the handler.
type api struct {
	*endpoint.Server
	gate   *access.Gate
	routes routes
}

// New creates the handler. It returns an error if an option is invalid.
func New(o Options) (http.Handler, error) {
	shared := endpoint.NewServer(o)
	room, err := server.New(shared.Options)
	if err != nil {
		return nil, err
	}
	list := endpoints(room)
	gate := access.NewGate(access.Rules{Auth: o.Auth, Memory: o.Memory, Bound: o.Bound, Hosts: o.Hosts, Proxies: o.Proxies, AnyOrigin: o.AnyOrigin,
		Logger: shared.Logger, Now: shared.Now})
	return &api{Server: shared, gate: gate, routes: newRoutes(list)}, nil
}

// endpoints returns the table of everything below /api.
func endpoints(room *server.Room) []endpoint.Route {
	return slices.Concat(projects.Routes(), attempts.Routes(), schedules.Routes(), signin.Routes(), room.Routes())
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	below := path == "/api" || strings.HasPrefix(path, "/api/") || path == endpoint.Live || path == endpoint.Ready
	access.Protect(w.Header(), below)
	c := endpoint.NewCall(a.Server, a.gate.Caller(w, r))
	if err := a.gate.Named(r); err != nil {
		c.TurnAway(err)
		return
	}
	if !below {
		a.serveUI(w, r)
		return
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if err := a.gate.OwnPage(r); err != nil {
		c.TurnAway(err)
		return
	}
	res, vars := a.routes.find(path)
	if r.Method == http.MethodOptions {
		answerOptions(w, res)
		return
	}
	c.Vars = vars
	if open := path == "/api/version" || res != nil && res.open(r.Method); !open {
		if err := c.Authenticate(); err != nil {
			c.TurnAway(err)
			return
		}
	}
	switch rt := res.route(r.Method); {
	case res == nil:
		w.WriteHeader(http.StatusNotFound)
	case rt == nil:
		w.Header().Set("Allow", res.allow())
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		a.run(c, rt)
	}
}

func (a *api) serveUI(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case a.UI == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		a.UI.ServeHTTP(w, r)
	}
}

// answerOptions lists the methods of a path, in Digdag's order.
func answerOptions(w http.ResponseWriter, res *resource) {
	if res == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Allow", res.allow())
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	_, _ = w.Write([]byte(res.allow())) // #nosec G705 -- it is a list of methods as plain text; an error means that the client is gone
}
