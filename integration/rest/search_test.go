package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestSearch checks that names, parts of names, tasks and numbers are found, but nothing from other sites.
func TestSearch(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 0, "admin")}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "+step%d: {echo>: x}\n", i)
	}
	c.must(http.MethodPut, "/api/projects?project=sales&revision=r", archive(map[string]string{"daily_load.dig": "+prepare:\n  +fetch: {echo>: x}\n", "daily_report.dig": many.String()}))
	c.must(http.MethodPut, "/api/projects?project=saleroom&revision=r", archive(map[string]string{"w.dig": "+a: {echo>: x}\n"}))
	attempt := c.run("sales", "daily_load")
	names := func(c caller, q string) string {
		c.t.Helper()
		var f struct {
			Projects, Workflows, Tasks []object
			Session, Attempt           object
		}
		c.get("/api/x/search?q="+q, &f)
		var list []string
		for _, rows := range [][]object{f.Projects, f.Workflows, f.Tasks} {
			for _, r := range rows {
				list = append(list, r["name"].(string))
			}
		}
		if f.Attempt != nil {
			list = append(list, "attempt "+f.Attempt["id"].(string))
		}
		if f.Session != nil {
			list = append(list, "session "+f.Session["sessionId"].(string))
		}
		return strings.Join(list, " ")
	}
	for q, want := range map[string]string{
		"sale":         "sales saleroom",
		"daily":        "daily_load daily_report",
		"report":       "daily_report",
		"%2Bfetch":     "+daily_load+prepare+fetch",
		"%2Bprepare":   "+daily_load+prepare +daily_load+prepare+fetch",
		"nosuch":       "",
		"999999999999": "",
	} {
		if got := names(c, q); got != want {
			t.Errorf("%s: %q, want %q", q, got, want)
		}
	}
	if got := names(c, attempt); !strings.Contains(got, "attempt "+attempt) {
		t.Errorf("the number of an attempt: %q", got)
	}
	if n := len(strings.Fields(names(c, "%2Bstep"))); n != 20 {
		t.Errorf("%d of 30 tasks, want 20", n)
	}
	stranger := caller{server, t, server.token(t, 2, "admin")}
	for _, q := range []string{"sale", "daily", "%2Bfetch", attempt} {
		if got := names(stranger, q); got != "" {
			t.Errorf("another site finds %s: %q", q, got)
		}
	}
	for q, status := range map[string]int{"": 400, "?q=": 400, "?q=" + strings.Repeat("a", 256): 400} {
		if a := c.call(http.MethodGet, "/api/x/search"+q, nil); a.status != status {
			t.Errorf("%.20s: %d %s", q, a.status, a.content)
		}
	}
}
