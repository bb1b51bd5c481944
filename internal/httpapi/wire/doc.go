// Package wire defines the JSON of the REST API: the types that request bodies are read into and answers are made of,
// with the functions that make them from the host's types. It does not read requests or query stores; internal/httpapi
// does.
package wire
