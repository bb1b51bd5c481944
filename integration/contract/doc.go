// Package contract runs schemathesis, which sends requests made from docs/openapi.yaml, valid ones and invalid ones, to
// a server with data: each response must be one that the document describes, and each invalid request must be refused.
// `make test-contract` installs schemathesis and runs it.
//
// hooks.py lists what a schema cannot state, each with its reason; schemathesis.toml has the options.
package contract
