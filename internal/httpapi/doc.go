// Package httpapi is Digdag's REST API as one http.Handler over a node.Node: the local server mounts it and a Lambda
// serves the same value. Extensions to Digdag's endpoints are described along with them in docs/openapi.yaml.
//
// The packages below it hold the endpoints, each with its own table of routes: projects, attempts, schedules, server
// and signin. They build on endpoint and access. This package joins their tables and routes each request to its
// endpoint. None of them may depend on a driver, decide anything about attempts or schedules, or read data from a site
// other than the caller's.
package httpapi
