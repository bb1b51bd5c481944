// Package wire defines the JSON of the REST API: the types of request and response bodies, with the functions that
// convert the host's types to them. It does not read requests or query stores; internal/httpapi does.
package wire
