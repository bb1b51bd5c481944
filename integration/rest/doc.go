// Package rest calls the REST API: it repeats recorded calls of Digdag, makes calls that the recording does not have,
// and checks each response against docs/openapi.yaml.
//
// It runs against a server in memory, or against a stack that the environment names. It must never bypass the API.
package rest
