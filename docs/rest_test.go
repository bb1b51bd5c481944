package docs_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"zerodag/docs"
)

// call is the part of an operation that the page of the REST API shows.
type call struct {
	Tags       []string
	Summary    string
	Parameters []struct {
		Name, In string
		Required bool
	}
}

// restMethods lists the methods of the API in the order in which the page shows them for each path.
var restMethods = []string{"get", "put", "post", "delete"}

// TestRest proves that the page of the REST API has every operation of openapi.yaml.
func TestRest(t *testing.T) {
	t.Parallel()
	const page = "reference/rest.md"
	want := restPage(t)
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != want {
		t.Errorf("%s is not up to date: go test ./docs -run TestRest -rewrite", page)
	}
	if n := strings.Count(want, "\n| `"); n < 50 {
		t.Errorf("the page has only %d operations", n)
	}
}

// restPage returns a table of the operations of each tag.
func restPage(t *testing.T) string {
	t.Helper()
	var api struct {
		Tags  []struct{ Name string }
		Paths yaml.Node
	}
	if err := yaml.Unmarshal(docs.OpenAPI, &api); err != nil {
		t.Fatal(err)
	}
	tables := map[string]*strings.Builder{}
	var b strings.Builder
	for i := 0; i < len(api.Paths.Content); i += 2 {
		var methods map[string]yaml.Node
		if err := api.Paths.Content[i+1].Decode(&methods); err != nil {
			t.Fatal(err)
		}
		for name := range methods {
			if name != "parameters" && !slices.Contains(restMethods, name) {
				t.Errorf("%s has the method %s, which the page does not know", api.Paths.Content[i].Value, name)
			}
		}
		for _, method := range restMethods {
			node, found := methods[method]
			if !found {
				continue
			}
			var c call
			if err := node.Decode(&c); err != nil || len(c.Tags) != 1 {
				t.Fatalf("%s %s: %v, tags %v", method, api.Paths.Content[i].Value, err, c.Tags)
			}
			if tables[c.Tags[0]] == nil {
				tables[c.Tags[0]] = new(strings.Builder)
			}
			fmt.Fprintf(tables[c.Tags[0]], "| `%s %s` | %s | %s |\n", strings.ToUpper(method), api.Paths.Content[i].Value, c.Summary, c.query())
		}
	}
	b.WriteString("# REST API\n\n<!-- go test ./docs -run TestRest -rewrite -->\n\nThis page lists every call of the API, grouped by subject. [openapi.yaml](../openapi.yaml) describes request bodies, responses and errors; " +
		"a running server serves it at `/api/openapi.yaml`. [server.md](../server.md#who-may-call) lists the calls that each role may use.\n")
	for _, tag := range api.Tags {
		if tables[tag.Name] == nil {
			t.Errorf("no operation has the tag %s", tag.Name)
			continue
		}
		fmt.Fprintf(&b, "\n## %s%s\n\n| call | | query |\n|---|---|---|\n%s", strings.ToUpper(tag.Name[:1]), tag.Name[1:], tables[tag.Name])
	}
	return b.String()
}

// query lists the query parameters, with required ones in bold.
func (c call) query() string {
	var names []string
	for _, p := range c.Parameters {
		switch {
		case p.In == "query" && p.Required:
			names = append(names, "**`"+p.Name+"`**")
		case p.In == "query":
			names = append(names, "`"+p.Name+"`")
		}
	}
	return strings.Join(names, " ")
}
