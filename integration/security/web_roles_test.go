package security

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestH6_Backup checks that no site token, whatever its role, can read data of all sites, raise its own role, or revoke
// the owners' tokens, and that an owner can.
func TestH6_Backup(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.authenticator.type=token")
	first, err := os.ReadFile(s.data("admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	asked := func(token, method, path, body string) answer {
		return s.call(method, path, []byte(body), "Authorization", "Bearer "+strings.TrimSpace(token), "Content-Type", "application/json")
	}
	for _, site := range []int{0, 1} {
		for _, role := range []string{"viewer", "operator", "developer", "admin"} {
			made := asked(string(first), http.MethodPost, "/api/tokens", fmt.Sprintf(`{"name":"x","role":%q,"site":%d}`, role, site))
			token, _ := made.object(t)["token"].(string)
			if token == "" {
				t.Fatalf("the owner makes no token: %d %s", made.Status, made.Body)
			}
			for _, c := range []struct{ method, path, body string }{
				{"GET", "/api/backup", ""}, {"POST", "/api/redrive", "{}"}, {"GET", "/api/tokens?site=7", ""},
				{"GET", "/api/x/admin/queue", ""}, {"GET", "/api/x/admin/sites", ""}, {"GET", "/api/x/admin/dead-letters", ""}, {"POST", "/api/x/admin/dead-letters/x/redrive", ""},
				{"POST", "/api/tokens", `{"name":"x","role":"owner"}`}, {"POST", "/api/tokens", `{"name":"x","role":"viewer","site":7}`}, {"DELETE", "/api/tokens/1?site=0", ""},
				{"POST", "/api/tokens", `{"name":"x","role":"metrics"}`},
			} {
				if a := asked(token, c.method, c.path, c.body); a.Status != http.StatusForbidden {
					t.Errorf("%s of site %d: %s %s: %d %.100s", role, site, c.method, c.path, a.Status, a.Body)
				}
			}
		}
	}
	if a := asked(string(first), http.MethodGet, "/api/metrics", ""); !strings.Contains(a.Body, "zerodag_build_info") {
		t.Errorf("the owner's metrics: %d %.200s", a.Status, a.Body)
	}
	if a := asked(string(first), http.MethodGet, "/api/backup", ""); a.Status != http.StatusOK || len(a.Body) < 1000 {
		t.Errorf("the owner's backup: %d, %d bytes", a.Status, len(a.Body))
	}
}

// TestH6_Password checks the same for a user with a password: only an administrator of the server can take a backup.
func TestH6_Password(t *testing.T) {
	t.Parallel()
	for admin, status := range map[string]int{"false": 403, "true": 200} {
		s := serve(t, "-X", "server.authenticator.basic.username=u", "-X", "server.authenticator.basic.password=p", "-X", "server.authenticator.basic.admin="+admin)
		if a := s.call(http.MethodGet, "/api/backup", nil, "Authorization", "Basic dTpw"); a.Status != status {
			t.Errorf("admin = %s: the backup: %d, want %d", admin, a.Status, status)
		}
		// Others see the metrics of their site, not those of the whole server.
		if a := s.call(http.MethodGet, "/api/metrics", nil, "Authorization", "Basic dTpw"); a.Status != 200 || strings.Contains(a.Body, "zerodag_build_info") != (admin == "true") {
			t.Errorf("admin = %s: the metrics: %d %.200s", admin, a.Status, a.Body)
		}
	}
}
