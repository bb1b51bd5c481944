package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/node"
)

// noticing records the site in its calls' contexts.
type noticing struct {
	scheduleStore
	sites *[]int64
}

func (n noticing) Schedule(ctx context.Context, _, _ int64) (host.Schedule, error) {
	if site, requested := host.SiteOf(ctx); requested {
		*n.sites = append(*n.sites, site)
	}
	return host.Schedule{}, host.ErrNotFound
}

// TestSiteOfRequest proves that a store gets the caller's site, so that it can share its connections fairly.
func TestSiteOfRequest(t *testing.T) {
	t.Parallel()
	list, err := access.ParsePrincipals([]string{"arn:aws:iam::111122223333:role/team=viewer/7"})
	if err != nil {
		t.Fatal(err)
	}
	var sites []int64
	signed := func(context.Context) (string, bool) { return "arn:aws:sts::111122223333:assumed-role/team/s", true }
	h, err := New(Options{Version: "1", Node: node.New(node.Options{Ports: host.Ports{Schedules: noticing{sites: &sites}}}),
		Auth: access.Auth{Required: true, Signed: signed, Principals: list}})
	if err != nil {
		t.Fatal(err)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/schedules/1", http.NoBody))
	if len(sites) != 1 || sites[0] != 7 {
		t.Errorf("the store was called for the sites %v, want 7", sites)
	}
}
