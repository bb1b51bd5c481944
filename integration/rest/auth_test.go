package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestAuthorization checks which callers are accepted, with which messages others are refused, and which calls need no
// authentication (server.md#who-may-call).
func TestAuthorization(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "user", Password: "se:cret"}, {Name: "other", Password: "x", Role: access.Viewer}}}})
	token := server.token(t, 0, "viewer")
	for _, c := range []struct {
		name, method, path, header string
		status                     int
		message                    string
	}{
		{"no header", "GET", "/api/projects", "", 401, "Missing Authorization header"},
		{"unknown path", "GET", "/api/nosuch", "", 401, "Missing Authorization header"},
		{"wrong method", "POST", "/api/projects", "", 401, "Missing Authorization header"},
		{"right", "GET", "/api/projects", basic("user", "se:cret"), 200, ""},
		{"second user", "GET", "/api/projects", basic("other", "x"), 200, ""},
		{"second user's role", "POST", "/api/schedules/1/enable", basic("other", "x"), 403, "Access denied: this requires the role operator; other has the role viewer"},
		{"wrong password", "GET", "/api/projects", basic("user", "secret"), 401, "unauthorized"},
		{"another's password", "GET", "/api/projects", basic("user", "x"), 401, "unauthorized"},
		{"unknown name", "GET", "/api/projects", basic("nobody", "se:cret"), 401, "unauthorized"},
		{"malformed", "GET", "/api/projects", "Basic !!", 401, "unauthorized"},
		{"one word", "GET", "/api/projects", "x", 401, "unauthorized"},
		{"token", "GET", "/api/projects", "Bearer " + token, 200, ""},
		{"token in small letters", "GET", "/api/projects", "bearer " + token, 200, ""},
		{"wrong token", "GET", "/api/projects", "Bearer " + token + "x", 401, "unauthorized"},
		{"empty token", "GET", "/api/projects", "Bearer ", 401, "unauthorized"},
		{"version", "GET", "/api/version", "", 200, ""},
		{"version check", "GET", "/api/version/check?client=1", "", 401, "Missing Authorization header"},
		{"health", "GET", "/api/health", "", 200, ""},
		{"options", "OPTIONS", "/api/projects", "", 200, ""},
		{"trace", "TRACE", "/api/projects", "", 401, "Missing Authorization header"},
		{"page", "GET", "/", "", 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if server.deployed() && strings.HasPrefix(c.header, "Basic ") && c.status != http.StatusUnauthorized {
				t.Skip("NOT RUN on a deployed stack: it has no users with passwords")
			}
			request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.header != "" {
				request.Header.Set("Authorization", c.header)
			}
			a := caller{server, t, ""}.send(request)
			if c.name == "page" && server.deployed() {
				c.status = http.StatusOK // the web console is the same for all callers and contains no data
			}
			want := ""
			if c.message != "" {
				want = fmt.Sprintf(`{"message":%q,"status":%d}`, c.message, c.status)
			}
			if a.status != c.status || want != "" && string(a.content) != want {
				t.Errorf("%d %s, want %d %s", a.status, a.content, c.status, want)
			}
		})
	}
}

// TestUserOfProjects checks that a user with a password may be limited to projects of a site, as a token may.
func TestUserOfProjects(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "u", Password: "p", Site: 2, Role: access.Viewer, Projects: []string{"crm"}}}}})
	if server.deployed() {
		t.Skip("NOT RUN on a deployed stack: it has no users with passwords")
	}
	admin := caller{server, t, server.token(t, 2, "admin")}
	for _, name := range []string{"crm", "sales"} {
		admin.must(http.MethodPut, "/api/projects?project="+name+"&revision=1", admin.project())
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/projects", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("u", "p")
	if a := (caller{server, t, ""}).send(request); a.status != http.StatusOK || !strings.Contains(string(a.content), `"crm"`) || strings.Contains(string(a.content), "sales") {
		t.Errorf("projects: %d %s", a.status, a.content)
	}
}

func basic(name, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(name, password)
	return r.Header.Get("Authorization")
}

// everySite returns a caller who manages every site: any caller if no login is needed, or a principal of the account on
// a deployed stack.
func everySite(t *testing.T) (*running, caller) {
	t.Helper()
	server := serve(t, httpapi.Options{})
	if server.deployed() {
		return server, caller{server, t, signed}
	}
	return server, caller{server, t, ""}
}

// TestTokens checks that a token is shown once, works until it is revoked, and belongs to
// its site.
func TestTokens(t *testing.T) {
	t.Parallel()
	server, manager := everySite(t)
	site := server.site + 3
	made := manager.must(http.MethodPost, "/api/tokens", fmt.Sprintf(`{"name":"ci","role":"operator","site":%d}`, site))
	secret := made["token"].(string)
	if a := manager.call(http.MethodGet, fmt.Sprintf("/api/tokens?site=%d", site), nil); strings.Contains(string(a.content), secret) || !strings.Contains(string(a.content), `"name":"ci"`) {
		t.Errorf("list of tokens: %s", a.content)
	}
	for _, own := range manager.must(http.MethodGet, "/api/tokens", nil)["tokens"].([]any) {
		if own.(object)["site"] != 0.0 {
			t.Errorf("site 0 sees a token of another: %v", own)
		}
	}
	ci := caller{server, t, secret}
	ci.must(http.MethodGet, "/api/projects", nil)
	if a := ci.call(http.MethodPut, "/api/projects?project=p&revision=r", server.project()); a.status != http.StatusForbidden {
		t.Errorf("an operator pushes: %d", a.status)
	}
	manager.must(http.MethodDelete, fmt.Sprintf("/api/tokens/%s?site=%d", made["id"], site), nil)
	if a := ci.call(http.MethodGet, "/api/projects", nil); a.status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", a.status)
	}
	for body, status := range map[string]int{`{"role":"admin"}`: 400, `{"name":"x"}`: 400, `{"name":"x","role":"king"}`: 400, `{`: 400} {
		if a := manager.call(http.MethodPost, "/api/tokens", body); a.status != status {
			t.Errorf("%s: %d %s, want %d", body, a.status, a.content, status)
		}
	}
}

// TestAudit checks that each change is recorded with its author, and a denied change also with the reason, and that
// reads, dry runs and mistakes are not recorded.
func TestAudit(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	admin := caller{server, t, server.token(t, 0, "admin")}
	viewer := caller{server, t, server.token(t, 0, "viewer")}
	id := admin.push(server.project())
	admin.must(http.MethodPut, "/api/projects/"+id+"/secrets/top", `{"value":"hidden"}`)
	attempt := admin.run("p", "main")
	schedule := admin.first("/api/schedules")["id"].(string)
	admin.must(http.MethodPost, "/api/schedules/"+schedule+"/skip", `{"nextTime":"2040-01-01T00:00:00Z","dryRun":true}`)
	admin.must(http.MethodPost, "/api/schedules/"+schedule+"/disable", nil)
	viewer.call(http.MethodPost, "/api/attempts/"+attempt+"/kill", `{}`)
	admin.call(http.MethodPut, "/api/attempts", `{`)
	admin.call(http.MethodPost, "/api/attempts/"+attempt+"/kill", `{}`) // it has ended: a conflict
	var got []string
	rows := admin.must(http.MethodGet, "/api/audit", nil)["audits"].([]any)
	for _, r := range rows {
		r := r.(object)
		got = append(got, fmt.Sprint(r["who"], ": ", r["action"], " ", r["target"], " ", r["detail"]))
	}
	want := []string{
		"viewer: kill attempts/" + attempt + "/kill Access denied: this requires the role operator; viewer has the role viewer",
		"admin: disable schedule " + schedule + " <nil>",
		"admin: start attempt " + attempt + " <nil>",
		"admin: put secret secret top of project p <nil>",
		"admin: push project p revision r <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("audit log:\n%s", diff)
	}
	if page := admin.must(http.MethodGet, fmt.Sprint("/api/audit?page_size=2&last_id=", rows[2].(object)["id"]), nil)["audits"].([]any); len(page) != 2 {
		t.Errorf("page of the audit log: %v", page)
	}
	for query, want := range map[string][]int{
		"who=viewer": {0}, "action=push": {4}, "target=" + url.QueryEscape("project p"): {3, 4}, "refused=true": {0},
		"to=2020-01-01": {}, "from=2020-01-01T00:00:00Z&who=admin&action=start": {2},
	} {
		var filtered, expected []any
		filtered = admin.must(http.MethodGet, "/api/audit?"+query, nil)["audits"].([]any)
		for _, i := range want {
			expected = append(expected, rows[i])
		}
		if diff := cmp.Diff(expected, filtered, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if a := admin.call(http.MethodGet, "/api/audit?from=yesterday", nil); a.status != http.StatusBadRequest {
		t.Errorf("a time that cannot be read: %d %s", a.status, a.content)
	}
	push := rows[4].(object)
	if with := fmt.Sprint(push["with"]); push["request"] != "PUT /api/projects" || !server.deployed() && push["address"] == nil || !strings.HasPrefix(with, "token ") || strings.Contains(with, "session") || push["refused"] != false {
		t.Errorf("origin of the push: %v", push)
	}
	if refused := rows[0].(object); refused["request"] != "POST /api/attempts/"+attempt+"/kill" || refused["with"] == push["with"] || refused["refused"] != true {
		t.Errorf("origin of the refused kill: %v", refused)
	}
}

// TestAuditSignIns checks that a user's repeated sign-ins are one entry, which names the session of the first one as
// the changes made with it do.
func TestAuditSignIns(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	if server.deployed() || several() {
		t.Skip("NOT RUN with several processes: each has its own entry")
	}
	b := server.sitting(t)
	token := server.token(t, 0, "admin")
	for range 3 {
		b.do(http.MethodPost, "/api/x/session", `{"token":"`+token+`"}`)
	}
	b.do(http.MethodPost, "/api/tokens", `{"name":"x","role":"viewer"}`)
	rows := caller{server, t, token}.must(http.MethodGet, "/api/audit", nil)["audits"].([]any)
	if len(rows) != 2 {
		t.Fatalf("entries: %v", rows)
	}
	session := regexp.MustCompile(`^token \d+, session [A-Z2-7]{8}$`)
	for i, action := range []string{"create token", "sign in"} {
		if r := rows[i].(object); r["action"] != action || !session.MatchString(fmt.Sprint(r["with"])) {
			t.Errorf("entry %d: %v", i, r)
		}
	}
}

// TestTokenEnds checks that a token is accepted until it expires, that its bearer and the list show when that is, and
// that a token that has already expired cannot be created.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	var late atomic.Int64 // how far the server's clock is ahead
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}, Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }})
	if server.deployed() {
		t.Skip("NOT RUN on a deployed stack: its clock cannot be set")
	}
	manager := caller{server, t, server.token(t, 0, "admin")}
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	made := manager.must(http.MethodPost, "/api/tokens", fmt.Sprintf(`{"name":"brief","role":"viewer","expiresAt":%q}`, end.Format(time.RFC3339)))
	brief := caller{server, t, made["token"].(string)}
	if who := brief.must(http.MethodGet, "/api/whoami", nil); who["expiresAt"] != end.Format(time.RFC3339) {
		t.Errorf("whoami: %v", who)
	}
	late.Store(int64(time.Hour))
	want := fmt.Sprintf(`{"message":%q,"status":401}`, "The token \"brief\" expired at "+end.Format(time.RFC3339)+": use another one, or create one with `zerodag tokens create`")
	if a := brief.call(http.MethodGet, "/api/whoami", nil); a.status != http.StatusUnauthorized || string(a.content) != want {
		t.Errorf("after its end: %d %s", a.status, a.content)
	}
	listed := manager.must(http.MethodGet, "/api/tokens", nil)["tokens"].([]any)
	if i := slices.IndexFunc(listed, func(v any) bool { return v.(object)["name"] == "brief" && v.(object)["expired"] == true }); i < 0 {
		t.Errorf("the list does not show that it expired: %v", listed)
	}
	if a := manager.call(http.MethodPost, "/api/tokens", fmt.Sprintf(`{"name":"x","role":"viewer","expiresAt":%q}`, end.Format(time.RFC3339))); a.status != http.StatusBadRequest {
		t.Errorf("a token that is over is created: %d %s", a.status, a.content)
	}
}

// TestLastOwner checks that the last owner cannot lock everyone out by revoking their own token, that an expired token
// does not count as another owner, and that a configured owner does.
func TestLastOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		users  []access.User
		other  host.Token
		status int
	}{
		"alone":            {nil, host.Token{Role: "admin"}, http.StatusConflict},
		"another expired":  {nil, host.Token{Role: "owner", ExpiresAt: time.Now().Add(-time.Hour)}, http.StatusConflict},
		"another owner":    {nil, host.Token{Role: "owner"}, http.StatusOK},
		"configured admin": {[]access.User{{Name: "u", Password: "p"}}, host.Token{Role: "admin"}, http.StatusConflict},
		"configured owner": {[]access.User{{Name: "u", Password: "p", Admin: true}}, host.Token{Role: "admin"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, httpapi.Options{Auth: access.Auth{Required: true, Users: c.users}})
			if server.deployed() {
				t.Skip("NOT RUN on a deployed stack: an owner there is who signs")
			}
			owner := caller{server, t, server.tokenFor(t, host.Token{Name: "last", Role: "owner"})}
			server.tokenFor(t, c.other)
			for _, v := range owner.must(http.MethodGet, "/api/tokens", nil)["tokens"].([]any) {
				if v.(object)["name"] != "last" {
					continue
				}
				if a := owner.call(http.MethodDelete, "/api/tokens/"+v.(object)["id"].(string), nil); a.status != c.status {
					t.Errorf("%d %s, want %d", a.status, a.content, c.status)
				}
				return
			}
			t.Error("the token is not listed")
		})
	}
}

// TestNewTokenWarnings checks that a new token for a site or a project that does not exist is created with a warning,
// and that an impossible one is refused.
func TestNewTokenWarnings(t *testing.T) {
	t.Parallel()
	server, manager := everySite(t)
	manager.must(http.MethodPut, "/api/projects?project=sales&revision=1", manager.project())
	for body, want := range map[string]string{
		`{"name":"x","role":"viewer"}`:                                          "",
		`{"name":"x","role":"viewer","projects":["sales"]}`:                     "",
		`{"name":"x","role":"viewer","projects":["sales","slaes"]}`:             `site 0 has no project "slaes" yet`,
		fmt.Sprintf(`{"name":"x","role":"viewer","site":%d}`, server.site+4711): fmt.Sprintf("site %d has no projects yet: the first push with this token creates it", server.site+4711),
	} {
		made := manager.must(http.MethodPost, "/api/tokens", body)
		if got := fmt.Sprint(made["warnings"]); got != "["+want+"]" {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for _, body := range []string{`{"name":"x","role":"owner","projects":["sales"]}`, `{"name":"x","role":"viewer","projects":["a/b"]}`, `{"name":"x","role":"viewer","projects":[""]}`} {
		if a := manager.call(http.MethodPost, "/api/tokens", body); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.status, a.content)
		}
	}
}
