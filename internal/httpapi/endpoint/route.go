package endpoint

import (
	"net/http"

	"zerodag/internal/httpapi/access"
)

// Probes for orchestrators, which are not below /api.
const (
	Live  = "/livez"  // whether the process must be restarted
	Ready = "/readyz" // whether it should get requests
)

// Kind determines how long a request may take.
type Kind int

// The kinds.
const (
	Plain    Kind = iota
	Transfer      // carries an archive or a log
	Stream        // lasts as long as both sides want
)

// Route is one endpoint.
type Route struct {
	Method, Path string
	Name         string      // suffix of its timer, as Digdag names it (wire.md 3.5)
	Role         access.Role // the lowest role that may call it: Owner if it spans sites; 0 needs no authentication
	Consumes     string      // content type of its body; "" means any
	Change       string      // its name in the audit log; "" if it only reads
	Kind         Kind
	Cost         Cost
	Site         bool // concerns a site or the server as a whole: callers who may use only some projects may not call it
	Apart        bool // only on the administrators' listener: elsewhere the path does not exist
	Serve        func(*Call) (any, error)
}

// Handler serves an endpoint: it returns the response's content, or an error.
type Handler = func(*Call) (any, error)

// Read returns the route of an endpoint that reads a lot of data, for every role.
func Read(path, name string, serve Handler) Route {
	rt := Get(path, name, serve)
	rt.Cost = Costly
	return rt
}

// Get returns the route of an endpoint that only reads, for every role.
func Get(path, name string, serve Handler) Route {
	return Route{Method: http.MethodGet, Path: path, Name: name, Role: access.Viewer, Serve: serve}
}
