package rest_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"zerodag/docs"
)

// description is docs/openapi.yaml.
type description struct{ *openapi3.T }

func describe(t *testing.T) *description {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return &description{doc}
}

// check returns how a response differs from the description.
func (d *description) check(method, path string, a answer) []string {
	operation := d.operation(method, path)
	if operation == nil || len(a.content) == 0 {
		return nil // no endpoint, or a response without a body
	}
	response := operation.Responses.Value(strconv.Itoa(a.status))
	if response == nil {
		response = operation.Responses.Default()
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return []string{err.Error()}
	}
	content := response.Value.Content.Get(media)
	if content == nil {
		return []string{fmt.Sprintf("openapi.yaml promises no %s for %d", media, a.status)}
	}
	if media != "application/json" {
		return nil
	}
	var v any
	if err := json.Unmarshal(a.content, &v); err != nil {
		return []string{err.Error()}
	}
	if err := content.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		return []string{"openapi.yaml: " + err.Error()}
	}
	return nil
}

// operation finds the operation of a path, or nil if there is none.
func (d *description) operation(method, path string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for _, pattern := range d.Paths.InMatchingOrder() {
		parts := strings.Split(pattern, "/")
		if len(parts) == len(segments) && matches(parts, segments) {
			return d.Paths.Value(pattern).GetOperation(method)
		}
	}
	return nil
}

func matches(pattern, segments []string) bool {
	for i, p := range pattern {
		if !strings.HasPrefix(p, "{") && p != segments[i] {
			return false
		}
	}
	return true
}
