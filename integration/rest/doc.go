// Package rest calls the REST API: recorded calls of Digdag again, and calls that the recording does not have, each
// answer checked against docs/openapi.yaml.
//
// It runs against a server in memory, or a stack that the environment names. It must never bypass the API.
package rest
