package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"zerodag/internal/httpapi/access"
)

// TestSignedActs checks which role callers who sign requests have: owner if there are no grants; otherwise the role of
// their grant, and none without a grant.
func TestSignedActs(t *testing.T) {
	t.Parallel()
	list, err := access.ParsePrincipals([]string{"arn:aws:iam::111122223333:role/team=operator/7"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		principals access.Principals
		role       string
		status     int
		body       string
	}{
		"no grants":   {nil, "any", http.StatusOK, `"role":"owner"`},
		"granted":     {list, "team", http.StatusOK, `"role":"operator"`},
		"site":        {list, "team", http.StatusOK, `"site":7`},
		"none":        {access.Principals{}, "any", http.StatusForbidden, "iamGrants"},
		"not granted": {list, "any", http.StatusForbidden, `arn:aws:sts::111122223333:assumed-role/any/s`},
	} {
		arn := "arn:aws:sts::111122223333:assumed-role/" + c.role + "/s"
		signed := func(context.Context) (string, bool) { return arn, true }
		h, err := New(Options{Version: "1", Auth: access.Auth{Required: true, Signed: signed, Principals: c.principals}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/whoami", http.NoBody))
		if body := strings.ReplaceAll(w.Body.String(), " ", ""); w.Code != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s, want %d with %s", name, w.Code, w.Body, c.status, c.body)
		}
	}
}
