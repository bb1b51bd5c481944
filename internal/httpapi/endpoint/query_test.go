package endpoint

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"zerodag/docs"
	"zerodag/internal/httpapi/access"
)

// TestCheckQuery proves that a query is refused if a parameter that is not a list is given twice, or if a flag is
// neither true nor false, and that everything else is left to the endpoint.
func TestCheckQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                "",
		"tag=a&tag=b&label=c=d&label=e=f": "",
		"include_retried=true":            "",
		"include_retried=False":           "", // as Python writes it
		"include_retried=1":               "", // as Digdag documents it, where it means false
		"open=False":                      "",
		"unknown=1":                       "",
		"page_size=1&page_size=2":         "page_size= is given 2 times: give it once",
		"unknown=1&unknown=1&unknown=1":   "unknown= is given 3 times: give it once",
		"open=true&open=true":             "open= is given 2 times: give it once",
		"open=null":                       `open= must be true or false, not "null"`,
		"open=":                           `open= must be true or false, not ""`,
		"open=1":                          `open= must be true or false, not "1"`,
	} {
		c := &Call{Caller: &access.Caller{R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil)}}
		got := ""
		if err := c.CheckQuery(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestForms proves that the query parameters have the forms that openapi.yaml describes: lists are arrays, and flags are
// booleans.
func TestForms(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Form]int{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, p := range append(item.Parameters, operation.Parameters...) {
				if p.Value.In != openapi3.ParameterInQuery {
					continue
				}
				want := Single
				switch schema := p.Value.Schema.Value; {
				case schema.Type.Is(openapi3.TypeArray):
					want = List
				case schema.Type.Is(openapi3.TypeBoolean):
					want = Flag
				}
				if got := FormOf(p.Value.Name); got != want {
					t.Errorf("%s %s: the form of %s is %d, but openapi.yaml describes %d", method, path, p.Value.Name, got, want)
				}
				seen[want]++
			}
		}
	}
	if seen[Single] < 50 || seen[List] < 5 || seen[Flag] < 8 {
		t.Errorf("openapi.yaml has only these parameters: %v", seen)
	}
}
