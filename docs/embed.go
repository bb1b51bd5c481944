// Package docs carries the documents that the server hands out: the description of the
// REST API. It must hold nothing but files that lie beside it.
package docs

import _ "embed" // for the directive below

// OpenAPI is docs/openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
