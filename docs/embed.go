// Package docs embeds the documents that programs serve: the description of the REST API, and the pages for users. It
// must contain only the files next to it, and their order in lists.
package docs

import "embed"

// OpenAPI is docs/openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Pages are the pages for users, as Markdown. Only the command line refers to them, so that the linker omits them from
// all other programs (TestZips).
//
//go:embed *.md language/*.md how-to/*.md reference/*.md
var Pages embed.FS

// Schema is the JSON Schema of workflows, for editors; TestSchema generates it.
//
//go:embed dig.schema.json
var Schema []byte
