// Command discovery writes the data that the fake checks every request against: the names and types
// in Google's own description of its APIs, limited to the parts that operators use.
//
//	go run ./integration/gcpfake/discovery > integration/gcpfake/google.json
//
// The description comes from a pinned version of Google's library, which `go mod download` fetches; no program here
// links it. The library must never be needed to build or to test.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// library is the version of Google's library whose descriptions are read.
const library = "google.golang.org/api@v0.311.0"

// used lists the methods that operators call, by the file of their API.
var used = map[string][]string{
	"bigquery/v2/bigquery-api.json": {"bigquery.jobs.insert", "bigquery.jobs.get", "bigquery.jobs.cancel", "bigquery.datasets.insert",
		"bigquery.datasets.delete", "bigquery.tables.insert", "bigquery.tables.delete"},
	"storage/v1/storage-api.json": {"storage.objects.get"},
}

// node is a part of a description: of a schema, or of one of its properties.
type node struct {
	Ref        string           `json:"$ref"`
	About      string           `json:"description"`
	Type       string           `json:"type"`
	Format     string           `json:"format"`
	Items      *node            `json:"items"`
	Additional *node            `json:"additionalProperties"`
	Properties map[string]*node `json:"properties"`
}

// api is the description of an API.
type api struct {
	ServicePath string              `json:"servicePath"`
	Resources   map[string]resource `json:"resources"`
	Schemas     map[string]*node    `json:"schemas"`
}

type resource struct {
	Methods map[string]struct {
		ID         string `json:"id"`
		HTTPMethod string `json:"httpMethod"`
		Path       string `json:"path"`
		Parameters map[string]struct {
			node
			Location string `json:"location"`
		} `json:"parameters"`
		Request *node `json:"request"`
	} `json:"methods"`
}

// method and description are the form that the fake reads.
type method struct {
	ID, Method, Path string
	Query            []string `json:",omitempty"`
	Request          string   `json:",omitempty"`
}

type description struct {
	Methods []method
	// Schemas holds the fields of each schema with their types: the name of another schema, "string", "int64" ..., with
	// "[]" before it for a list and "{}" for a mapping.
	Schemas map[string]map[string]string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	out, err := exec.Command("go", "mod", "download", "-json", library).Output()
	var where struct{ Dir, Error string }
	if bad := json.Unmarshal(out, &where); bad != nil || where.Dir == "" {
		return errors.Join(fmt.Errorf("fetch %s: %s", library, where.Error), err)
	}
	all := description{Schemas: map[string]map[string]string{}}
	for file, ids := range used {
		text, err := os.ReadFile(filepath.Join(where.Dir, filepath.FromSlash(file)))
		if err != nil {
			return fmt.Errorf("read the description: %w", err)
		}
		var a api
		if err := json.Unmarshal(text, &a); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		all.add(a, ids)
	}
	slices.SortFunc(all.Methods, func(a, b method) int { return strings.Compare(a.ID, b.ID) })
	written, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	fmt.Println(string(written))
	return nil
}

// add copies methods, and the schemas that their requests use.
func (d *description) add(a api, ids []string) {
	for _, r := range a.Resources {
		for _, m := range r.Methods {
			if !slices.Contains(ids, m.ID) {
				continue
			}
			taken := method{ID: m.ID, Method: m.HTTPMethod, Path: "/" + a.ServicePath + strings.ReplaceAll(m.Path, "{+", "{")}
			for name, p := range m.Parameters {
				if p.Location == "query" {
					taken.Query = append(taken.Query, name)
				}
			}
			slices.Sort(taken.Query)
			if m.Request != nil {
				taken.Request = d.typeOf(a, m.Request, "")
			}
			d.Methods = append(d.Methods, taken)
		}
	}
}

// typeOf returns the type of a node, and adds the schema that the node names or defines. name is the name for a schema
// that has none.
func (d *description) typeOf(a api, n *node, name string) string {
	switch {
	case n.Ref != "":
		d.schema(a, n.Ref, a.Schemas[n.Ref])
		return n.Ref
	case n.Type == "array":
		return "[]" + d.typeOf(a, n.Items, name)
	case n.Additional != nil:
		return "{}" + d.typeOf(a, n.Additional, name)
	case n.Type == "object" && n.Properties != nil:
		d.schema(a, name, n)
		return name
	case n.Type == "string" && (n.Format == "int64" || n.Format == "uint64"):
		return "int64"
	}
	return n.Type
}

func (d *description) schema(a api, name string, n *node) {
	if d.Schemas[name] != nil {
		return
	}
	fields := map[string]string{}
	d.Schemas[name] = fields
	for key, p := range n.Properties {
		if strings.Contains(p.About, "Output only") || strings.Contains(p.About, "[Output-only]") {
			continue // no operator sends it
		}
		fields[key] = d.typeOf(a, p, name+"."+key)
	}
}
