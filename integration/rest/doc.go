// Package rest calls the REST API: recorded calls of Digdag again, and what the recording does
// not have, each answer held against docs/openapi.yaml.
//
// It runs against a server in memory, or a stack that the environment names. It must never
// reach past the API.
package rest
