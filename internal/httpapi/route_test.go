package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"zerodag/docs"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/server"
)

// TestDescription proves that docs/openapi.yaml is valid and describes exactly the existing endpoints, with the names
// of their timers.
func TestDescription(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			described = append(described, method+" "+path+" "+operation.OperationID)
		}
	}
	for _, rt := range endpoints(&server.Room{}) {
		served = append(served, rt.Method+" "+rt.Path+" "+rt.Name)
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("served (-) and described (+):\n%s", diff)
	}
}

// signing reports whether an endpoint is for callers who are not signed in yet: it only changes the session of their
// own browser, and it records who signs in.
func signing(rt endpoint.Route) bool {
	return rt.Path == "/api/x/session" || strings.HasPrefix(rt.Path, "/api/x/session/")
}

// TestRoles proves that a caller who may only read cannot change anything, and that each
// change is recorded.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, rt := range endpoints(&server.Room{}) {
		if signing(rt) && rt.Role == 0 {
			continue
		}
		changes := rt.Method != http.MethodGet && rt.Name != "checkFiles" && rt.Name != "checkStart" // it only checks the request's contents and stores nothing
		if changes && rt.Role < access.Operator {
			t.Errorf("%s %s changes something but needs role %q only", rt.Method, rt.Path, rt.Role)
		}
		if changes != (rt.Change != "") {
			t.Errorf("%s %s: changes %t, audited as %q", rt.Method, rt.Path, changes, rt.Change)
		}
		if rt.Role == 0 && !slices.Contains([]string{"/api/version", "/api/health", endpoint.Live, endpoint.Ready}, rt.Path) {
			t.Errorf("%s %s needs no authentication", rt.Method, rt.Path)
		}
	}
}

// TestFind checks how paths are resolved to resources: with escaped segments, with a slash at the end, and not at all
// if they are not in the table.
func TestFind(t *testing.T) {
	t.Parallel()
	rs := newRoutes(endpoints(&server.Room{}))
	for path, want := range map[string]string{
		"/api/projects":                       "",
		"/api/projects/":                      "",
		"/api/projects/7":                     "id=7",
		"/api/projects/7/workflows/a%2Fb%20c": "id=7 name=a/b c",
		"/api/logs/1/files/%2Bmain%40x.gz":    "attempt_id=1 file_name=+main@x.gz",
		"/api/projects/7/workflows/a/b c":     "id=7 name=a/b c",
		"/api/logs/1/files/a/b":               "attempt_id=1 file_name=a/b",
		"/api/projects/7/8":                   "none",
		"/api/nosuch":                         "none",
		"/api":                                "none",
		"/api/projects/7/nosuch":              "none",
		"/api/projects/%zz":                   "none",
	} {
		res, vars := rs.find(path)
		var list []string
		for k, v := range vars {
			list = append(list, k+"="+v)
		}
		slices.Sort(list)
		got := strings.Join(list, " ")
		if res == nil {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestAllow proves that OPTIONS lists methods in Digdag's order.
func TestAllow(t *testing.T) {
	t.Parallel()
	rs := newRoutes(endpoints(&server.Room{}))
	for path, want := range map[string]string{
		"/api/projects":        "HEAD, GET, OPTIONS, PUT",
		"/api/projects/1":      "HEAD, DELETE, GET, OPTIONS",
		"/api/attempts/1/kill": "POST, OPTIONS",
	} {
		if res, _ := rs.find(path); res.allow() != want {
			t.Errorf("%s: %s, want %s", path, res.allow(), want)
		}
	}
}
