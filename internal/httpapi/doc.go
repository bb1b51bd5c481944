// Package httpapi is Digdag's REST API as one http.Handler over a node.Node: the local
// server mounts it and a Lambda serves the same value. What is new beside Digdag's
// endpoints is described in docs/openapi.yaml with them.
//
// The rooms below it hold the endpoints, each with the table of its own: projects, attempts,
// schedules, server and signin. They stand on endpoint and access. This package joins their
// tables and leads each request to its endpoint. None of them may know a driver, decide
// anything about attempts or schedules, or read what belongs to another site than the caller's.
package httpapi
