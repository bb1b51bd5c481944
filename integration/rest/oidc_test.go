package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"zerodag/infra/settings"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/oidc"
	"zerodag/internal/oidc/oidctest"
	"zerodag/internal/seal"
)

// known returns a server with sign-ins through an identity provider, with the given grants.
func known(t *testing.T, grants string, box *seal.Box) (*running, *oidctest.Provider) {
	t.Helper()
	if list, err := access.ParseGrants(grants); err == nil {
		fake := oidctest.New(t)
		o := &access.OIDC{Name: "Fake", Grants: list}
		server := ours(t, httpapi.Options{Auth: access.Auth{OIDC: o, Seal: box}})
		fake.Callback = server.URL + access.CallbackPath
		p, err := oidc.New(oidc.Options{Issuer: fake.URL, ClientID: oidctest.ClientID, Callback: fake.Callback, Secret: func(context.Context) (string, error) { return oidctest.Secret, nil }})
		if err != nil {
			t.Fatal(err)
		}
		o.Provider = p
		return server, fake
	}
	t.Fatalf("grants %q cannot be read", grants)
	return nil, nil
}

// leave goes to the provider and returns the address to which it sends the browser back.
func (b *browser) leave(back string) *url.URL {
	b.t.Helper()
	a := b.do(http.MethodGet, "/api/x/session/oidc?return="+url.QueryEscape(back), "")
	if a.status != http.StatusFound {
		b.t.Fatalf("to the provider: %d %s", a.status, a.content)
	}
	return followed(b.t, a.header.Get("Location"))
}

// followed returns where an address leads a browser.
func followed(t *testing.T, address string) *url.URL {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		t.Fatalf("%s leads nowhere: %d", address, answer.StatusCode)
	}
	return to
}

// land returns from the provider as a browser does, and returns where the server redirects it.
func (b *browser) land(to *url.URL) string {
	b.t.Helper()
	a := b.do(http.MethodGet, to.RequestURI(), "", without("X-Zerodag-Request"), with("Sec-Fetch-Site", "cross-site"), with("Sec-Fetch-Mode", "navigate"))
	if a.status != http.StatusFound {
		b.t.Fatalf("back from the provider: %d %s", a.status, a.content)
	}
	return a.header.Get("Location")
}

// TestSignInAtAProvider checks that a user signs in through an identity provider and returns to the previous page, with
// the role and site of the first matching grant, and that no one else can.
func TestSignInAtAProvider(t *testing.T) {
	t.Parallel()
	server, fake := known(t, "boss@example.com=owner, group:ops=operator/2, @example.com=viewer, group:a=b=admin", nil)
	verified := func(email string, groups ...string) map[string]any {
		return map[string]any{"sub": "7", "email": email, "email_verified": true, "groups": groups}
	}
	for _, c := range []struct {
		claims     map[string]any
		role, user string
	}{
		{verified("boss@example.com", "ops"), "owner", "boss@example.com"},
		{verified("Boss@Example.com"), "owner", "Boss@Example.com"},
		{verified("me@example.com", "ops"), "operator", "me@example.com"},
		{verified("me@example.com"), "viewer", "me@example.com"},
		{verified("me@other.org", "a=b"), "admin", "me@other.org"},
		{map[string]any{"sub": "7", "email": "me@other.org", "groups": []string{"ops"}}, "operator", "7"},
		{verified("me@other.org"), "", ""},
		{verified("me@sub.example.com"), "", ""},
		{verified("me@example.com.evil.org"), "", ""},
		{verified("me@evil.org@example.com"), "", ""},
		{map[string]any{"sub": "7", "email": "boss@example.com", "email_verified": false}, "", ""},
		{map[string]any{"sub": "boss@example.com"}, "", ""},
		{verified("@example.com", "Ops", "ops "), "viewer", "@example.com"},
	} {
		fake.Says(c.claims, nil)
		b := server.sitting(t)
		if s := b.signs(); s.OIDC == nil || s.OIDC.Name != "Fake" || s.OIDC.URL != "/api/x/session/oidc" || fmt.Sprint(s.Methods) != "[token oidc]" {
			t.Errorf("before: %+v", s)
		}
		to := b.land(b.leave("/attempts/7?task=3#L1"))
		if to != "/attempts/7?task=3#L1" {
			t.Errorf("%v: led to %s", c.claims, to)
		}
		s := b.signs()
		if s.Authenticated != (c.role != "") || s.Role != c.role || s.User != c.user || (s.Problem == nil) != (c.role != "") || s.Site != nil != (c.role == "operator") {
			t.Errorf("%v: signed in %+v", c.claims, s)
		}
		if again := b.signs(); again.Problem != nil {
			t.Errorf("the problem is reported twice: %s", *again.Problem)
		}
	}
}

// TestGrantOfProjects checks that a user whose grant names projects sees and changes only those projects: others do not
// exist for the user, and neither do calls about the whole site.
func TestGrantOfProjects(t *testing.T) {
	t.Parallel()
	server, fake := known(t, "group:crm=developer/2/crm/leads", nil)
	admin := caller{server, t, server.token(t, 2, "admin")}
	for _, name := range []string{"crm", "sales"} {
		admin.must(http.MethodPut, "/api/projects?project="+name+"&revision=1", admin.project())
	}
	fake.Says(map[string]any{"sub": "7", "groups": []string{"crm"}}, nil)
	b := server.sitting(t)
	b.land(b.leave("/"))
	if a := b.do(http.MethodGet, "/api/projects", ""); !strings.Contains(string(a.content), `"crm"`) || strings.Contains(string(a.content), "sales") {
		t.Errorf("projects: %d %s", a.status, a.content)
	}
	for path, status := range map[string]int{"/api/project?name=crm": 200, "/api/project?name=sales": 404, "/api/tokens": 403} {
		if a := b.do(http.MethodGet, path, ""); a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.content, status)
		}
	}
	if a := b.do(http.MethodGet, "/api/whoami", ""); !strings.Contains(string(a.content), `"projects":["crm","leads"]`) {
		t.Errorf("whoami: %s", a.content)
	}
}

// TestGrantsAreLookedAtAgain checks that a user's session ends when the grant is removed, and that its role changes
// with the grant.
func TestGrantsAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	box := seal.New(seal.Fixed([]byte("0123456789abcdef")))
	server, fake := known(t, "group:ops=operator", box)
	fake.Says(map[string]any{"sub": "7", "groups": []string{"ops", "team"}}, nil)
	b := server.sitting(t)
	b.land(b.leave("/"))
	for grants, role := range map[string]string{"group:ops=viewer": "viewer", "group:ops=admin/3": "admin", "group:team=admin": "", "@example.com=owner": ""} {
		other, _ := known(t, grants, box)
		x := other.sitting(t)
		x.takes(b)
		if s := x.signs(); s.Role != role || s.Authenticated != (role != "") {
			t.Errorf("with %s: %+v", grants, s)
		}
	}
	none := ours(t, httpapi.Options{Auth: access.Auth{Required: true, Seal: box}}).sitting(t)
	none.takes(b)
	if none.signs().Authenticated {
		t.Error("without the provider the session goes on")
	}
}

// TestComingBack checks that a browser can return from a provider only once, to the server and the sign-in that it left
// from, and is never redirected elsewhere.
func TestComingBack(t *testing.T) {
	t.Parallel()
	server, fake := known(t, "group:ops=operator", nil)
	fake.Says(map[string]any{"sub": "7", "groups": []string{"ops"}}, nil)
	victim, thief := server.sitting(t), server.sitting(t)
	refused := func(b *browser, to *url.URL, what string) {
		t.Helper()
		b.land(to)
		if s := b.signs(); s.Authenticated || s.Problem == nil || !strings.Contains(*s.Problem, "not started in this browser") {
			t.Errorf("%s: %+v", what, s)
		}
	}
	link := thief.leave("/")
	refused(victim, link, "a link with another's code and state")
	victim.leave("/")
	refused(victim, link, "the same while at the provider")
	back := victim.leave("/")
	leftWith := *victim.cookieOf()
	changed := *back
	changed.RawQuery = url.Values{"code": {back.Query().Get("code")}}.Encode()
	refused(victim, &changed, "no state")
	if leftWith.SameSite != http.SameSiteLaxMode || !leftWith.HttpOnly || leftWith.MaxAge != 600 || strings.Contains(leftWith.Value, back.Query().Get("state")) {
		t.Errorf("cookie of who is at the provider: %+v", leftWith)
	}
	back = victim.leave("/")
	leftWith = *victim.cookieOf()
	victim.land(back)
	if !victim.signs().Authenticated || len(victim.jar) != 1 {
		t.Errorf("the right one does not get in: %v", victim.jar)
	}
	again := server.sitting(t)
	again.jar[leftWith.Name] = &leftWith
	refused(again, back, "a state that was used")

	denied := server.sitting(t)
	state := denied.leave("/x").Query().Get("state")
	u := &url.URL{Path: access.CallbackPath, RawQuery: url.Values{"state": {state}, "error": {"access_denied"}, "error_description": {"<img src=x onerror=alert(1)>"}}.Encode()}
	if to := denied.land(u); to != "/x" {
		t.Errorf("led to %s", to)
	}
	if s := denied.signs(); s.Problem == nil || !strings.Contains(*s.Problem, "access_denied") {
		t.Errorf("the provider's no: %+v", s)
	}
	for _, evil := range []string{"https://evil.example", "//evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example", "/%2Fevil.example", "javascript:alert(1)", "evil", "", "/api/backup", strings.Repeat("/a", 1000)} {
		b := server.sitting(t)
		if to := b.land(b.leave(evil)); to != "/" {
			t.Errorf("return=%q leads to %q", evil, to)
		}
	}
}

// TestGrantsOfAStage checks that a deploy accepts exactly the grants that the API can read.
func TestGrantsOfAStage(t *testing.T) {
	t.Parallel()
	for _, grant := range []string{"alice@example.com=owner", "@example.com=viewer/3", "group:Data Team=operator", "group:a=b=admin", "@example.com=king", "@example.com=", "alice=viewer", "=viewer",
		"*=viewer", "@=viewer", "*@example.com=viewer", "group:=viewer", "a@b@c=viewer", "@example.com=viewer/x", "@example.com=viewer/-1", "@example.com=viewer/", "a b@example.com=viewer",
		"group:sales=developer/0/sales/big crm", "group:a=viewer/0/", "group:a=viewer/0/a//b", "group:a=viewer/sales", "group:a=owner/1/x", "group:a=metrics/1/x"} {
		s := settings.Default("main")
		s.OIDCIssuer, s.OIDCAddress, s.OIDCClient, s.OIDCGrants = "https://id.example.com", "https://a.example.com", "c", []string{grant}
		_, err := access.ParseGrants(grant)
		if deploy := s.Validate(); (deploy == nil) != (err == nil) {
			t.Errorf("%q: the deploy says %v, the API %v", grant, deploy, err)
		}
	}
}

// TestProviderThatIsDown checks that the page from which a user signs in shows that the provider does not respond, and
// that users can still sign in with a token.
func TestProviderThatIsDown(t *testing.T) {
	t.Parallel()
	server, fake := known(t, "group:ops=operator", nil)
	fake.Says(map[string]any{"sub": "7", "groups": []string{"ops"}}, nil)
	fake.Break(true)
	b := server.sitting(t)
	if a := b.do(http.MethodGet, "/api/x/session/oidc?return=/x", ""); a.status != http.StatusFound || a.header.Get("Location") != "/x" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if s := b.signs(); s.Problem == nil || !strings.Contains(*s.Problem, "cannot be reached") {
		t.Errorf("before: %+v", s)
	}
	fake.Break(false)
	back := b.leave("/x")
	fake.Break(true)
	b.land(back)
	if s := b.signs(); s.Problem == nil || s.Authenticated {
		t.Errorf("after: %+v", s)
	}
	if a := b.do(http.MethodPost, "/api/x/session", `{"token":"`+server.token(t, 0, "viewer")+`"}`); a.status != 200 || !b.signs().Authenticated {
		t.Errorf("with a token: %d", a.status)
	}
}
