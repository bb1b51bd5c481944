// Package wire has the JSON of the REST API: what bodies of requests are read into, and what answers are made of, with the
// functions that make them of what the host knows. It reads no request and asks no store; internal/httpapi does.
package wire
