// Package httpapi is Digdag's REST API as one http.Handler over a node.Node: the local
// server mounts it and a Lambda serves the same value. What is new beside the original's
// endpoints is described in docs/openapi.yaml with them.
//
// Each file holds one resource; route.go is the table of all endpoints. It must never
// know a driver, decide anything about attempts or schedules, or read what belongs to
// another site than the caller's.
package httpapi
