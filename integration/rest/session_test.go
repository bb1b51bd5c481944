package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/seal"
)

// browser makes calls as a browser does: it keeps the cookies that it gets and sends them. head is sent with each
// request.
type browser struct {
	caller
	jar  map[string]*http.Cookie
	head map[string]string
}

// sitting returns a browser with one of the server's pages open.
func (s *running) sitting(t *testing.T) *browser {
	return &browser{caller{s, t, ""}, map[string]*http.Cookie{}, map[string]string{"X-Zerodag-Request": "page", "Sec-Fetch-Site": "same-origin"}}
}

// do sends a request; change may change it.
func (b *browser) do(method, path, body string, change ...func(*http.Request)) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range b.head {
		r.Header.Set(name, value)
	}
	for _, k := range b.jar {
		r.AddCookie(&http.Cookie{Name: k.Name, Value: k.Value})
	}
	for _, f := range change {
		f(r)
	}
	a := b.send(r)
	for _, k := range (&http.Response{Header: a.header}).Cookies() {
		if b.jar[k.Name] = k; k.MaxAge < 0 {
			delete(b.jar, k.Name)
		}
	}
	return a
}

// sessionName returns the name of the session cookie on a local server.
func (s *running) sessionName(t *testing.T) string {
	t.Helper()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "zerodag_session_" + at.Port()
}

// takes makes a browser send the session of another browser, as if the server had replaced it.
func (b *browser) takes(other *browser) {
	b.t.Helper()
	name := b.sessionName(b.t)
	b.jar[name] = &http.Cookie{Name: name, Value: other.cookieOf().Value}
}

// without removes a header.
func without(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Del(name) }
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// signs makes the page's first request.
func (b *browser) signs() (s signIn) {
	b.t.Helper()
	if a := b.do(http.MethodGet, "/api/x/session", ""); a.status != http.StatusOK || json.Unmarshal(a.content, &s) != nil {
		b.t.Fatalf("%d %s", a.status, a.content)
	}
	return s
}

type signIn struct {
	Authenticated bool
	Methods       []string
	OIDC          *struct{ Name, URL string }
	User, Role    string
	Rights        struct{ Read, Write, Admin, Owner bool }
	Timezone      string
	Site          *string
	Live, Version string
	AWS           bool
	Problem       *string
}

// cookieOf returns the only cookie of a browser.
func (b *browser) cookieOf() *http.Cookie {
	b.t.Helper()
	if len(b.jar) != 1 {
		b.t.Fatalf("cookies: %v", b.jar)
	}
	for _, k := range b.jar {
		return k
	}
	return nil
}

// TestSignInWithAToken checks that a token becomes a cookie that no script can read and that reveals nothing about the
// token; that the cookie lets the browser read, and make changes only on purpose; and that it is invalid after signing
// out or once the token is revoked.
func TestSignInWithAToken(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	token := server.token(t, 3, "operator")
	b := server.sitting(t)
	before := b.signs()
	if before.Authenticated || fmt.Sprint(before.Methods) != "[token]" || before.OIDC != nil || before.Rights.Read || before.Timezone != "UTC" || before.Problem != nil {
		t.Errorf("before: %+v", before)
	}
	for body, status := range map[string]int{`{"token":"` + token + `x"}`: 401, `{}`: 400, `{"token":"a","user":"b","password":"c"}`: 400, `{"user":"b","password":"c"}`: 400, `{`: 400} {
		if a := b.do(http.MethodPost, "/api/x/session", body); a.status != status || len(b.jar) > 0 {
			t.Errorf("%s: %d %s, want %d and no cookie: %v", body, a.status, a.content, status, b.jar)
		}
	}
	a := b.do(http.MethodPost, "/api/x/session", `{"token":"`+token+`"}`)
	k := b.cookieOf()
	name, secure := server.sessionName(t), false
	if server.deployed() {
		name, secure = "__Host-zerodag_session", true
	}
	if a.status != 200 || k.Name != name || !k.HttpOnly || k.Secure != secure || k.SameSite != http.SameSiteStrictMode || k.Path != "/" || k.Domain != "" || k.MaxAge <= 0 || k.MaxAge > 12*3600 {
		t.Errorf("%d %s: cookie %+v", a.status, a.content, k)
	}
	if strings.Contains(k.Value, token) || strings.Contains(string(a.content), token) {
		t.Error("the token is shown again")
	}
	if s := b.signs(); !s.Authenticated || s.User != "operator" || s.Role != "operator" || !s.Rights.Read || !s.Rights.Write || s.Rights.Admin || s.Site == nil {
		t.Errorf("signed in: %+v", s)
	}
	if a := b.do(http.MethodGet, "/api/projects", "", without("X-Zerodag-Request")); a.status != 200 {
		t.Errorf("read: %d %s", a.status, a.content)
	}
	for _, change := range []func(*http.Request){without("X-Zerodag-Request"), with("X-Zerodag-Request", "form")} {
		if a := b.do(http.MethodPost, "/api/attempts/99/kill", `{}`, change); a.status != 403 {
			t.Errorf("a change that nobody meant: %d %s", a.status, a.content)
		}
	}
	if a := b.do(http.MethodPost, "/api/attempts/99/kill", `{}`); a.status != 404 {
		t.Errorf("a change on purpose: %d %s", a.status, a.content)
	}
	if a := b.do(http.MethodGet, "/api/projects", "", with("Sec-Fetch-Site", "cross-site")); a.status != 403 {
		t.Errorf("for a page of another origin: %d %s", a.status, a.content)
	}
	kept := *k
	if a := b.do(http.MethodDelete, "/api/x/session", "", without("X-Zerodag-Request")); a.status != 403 || len(b.jar) != 1 {
		t.Errorf("signed out by another page: %d", a.status)
	}
	if a := b.do(http.MethodDelete, "/api/x/session", ""); a.status != 204 || len(b.jar) != 0 || b.signs().Authenticated {
		t.Errorf("sign out: %d, cookies %v", a.status, b.jar)
	}
	if b.jar[kept.Name] = &kept; !server.deployed() && !several() && b.signs().Authenticated {
		t.Error("a cookie that was kept is good after signing out")
	}
	b.jar = map[string]*http.Cookie{}
	b.do(http.MethodPost, "/api/x/session", `{"token":"`+token+`"}`)
	if b.cookieOf().Value == kept.Value || !b.signs().Authenticated {
		t.Error("signing in again gives no new session")
	}
	server.revoke(t, 3, token)
	if a := b.do(http.MethodGet, "/api/projects", ""); a.status != 401 || b.signs().Authenticated {
		t.Errorf("with a revoked token: %d %s", a.status, a.content)
	}
}

// TestSignOutEverywhere checks that signing out on one server ends the user's sessions on another server that uses the
// same database, within the time that the page promises, and after a restart; and that the user can sign in again.
func TestSignOutEverywhere(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // how much time has passed for the servers
	options := httpapi.Options{Auth: access.Auth{Required: true}, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
	one := serve(t, options)
	if one.deployed() {
		t.Skip("NOT RUN on a deployed stack: its functions cannot be chosen")
	}
	credentials := `{"token":"` + one.token(t, 3, "operator") + `"}`
	signedIn := func(s *running, cookie *http.Cookie) *browser {
		b := s.sitting(t)
		if cookie == nil {
			b.do(http.MethodPost, "/api/x/session", credentials)
			return b
		}
		b.jar[s.sessionName(t)] = &http.Cookie{Name: s.sessionName(t), Value: cookie.Value}
		return b
	}
	two := one.another(t, options)
	phone, laptop := signedIn(one, nil), signedIn(one, nil)
	copied := signedIn(two, laptop.cookieOf())
	if !phone.signs().Authenticated || !laptop.signs().Authenticated || !copied.signs().Authenticated {
		t.Fatal("not signed in on both servers")
	}
	kept := *laptop.cookieOf()
	if a := laptop.do(http.MethodDelete, "/api/x/session", ""); a.status != http.StatusNoContent {
		t.Fatalf("sign out: %d %s", a.status, a.content)
	}
	ahead.Add(int64(access.Recheck))
	if phone.signs().Authenticated || copied.signs().Authenticated {
		t.Error("another session of the user, or a copy on another server, continues")
	}
	if signedIn(one.another(t, options), &kept).signs().Authenticated {
		t.Error("a copy is accepted after a restart")
	}
	again := signedIn(two, nil)
	if !again.signs().Authenticated || !signedIn(one, again.cookieOf()).signs().Authenticated {
		t.Error("the user cannot sign in again")
	}
}

// another starts another server over the same engine, which shares nothing else with the first.
func (s *running) another(t *testing.T, options httpapi.Options) *running {
	t.Helper()
	options.Node, options.Version, options.Stopping = s.engine.Node, recordedVersion, make(chan struct{})
	options.Auth.Tokens, options.Auth.Audit, options.Auth.Seal = s.engine.DB, s.engine.DB, s.engine.Seal
	handler, err := httpapi.New(options)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(handler)
	t.Cleanup(listening.Close)
	return &running{URL: listening.URL, engine: s.engine, stack: s.stack, spec: s.spec}
}

// revoke revokes a token in ways that its bearer may not: in the store, or as the owner of the account.
func (s *running) revoke(t *testing.T, site int64, token string) {
	t.Helper()
	manager := caller{s, t, signed}
	if !s.deployed() {
		manager = caller{s, t, s.token(t, 0, "owner")}
	}
	for _, row := range manager.must(http.MethodGet, fmt.Sprintf("/api/tokens?site=%d", s.site+site), nil)["tokens"].([]any) {
		manager.must(http.MethodDelete, fmt.Sprintf("/api/tokens/%s?site=%d", row.(object)["id"], s.site+site), nil)
	}
	if a := (caller{s, t, token}).call(http.MethodGet, "/api/projects", nil); a.status != http.StatusUnauthorized {
		t.Fatalf("the token is not revoked: %d", a.status)
	}
}

// ours serves in memory, because a deployed stack has its own settings.
func ours(t *testing.T, o httpapi.Options) *running {
	t.Helper()
	server := serve(t, o)
	if server.deployed() {
		t.Skip("NOT RUN on a deployed stack: it has no users with passwords, and its own clock")
	}
	return server
}

// TestSignInWithAPassword checks that a user signs in, that a wrong password is refused and slowed down as a login by
// header is, whether the user exists or not, that the cookie does not contain the password, and that a changed
// password, a changed key or the removal of the user ends the session.
func TestSignInWithAPassword(t *testing.T) {
	t.Parallel()
	box := seal.New(seal.Fixed([]byte("0123456789abcdef")))
	users := func(list ...access.User) *running {
		return ours(t, httpapi.Options{Auth: access.Auth{Users: list, Seal: box}})
	}
	server := users(access.User{Name: "me", Password: "se:cret", Role: access.Viewer}, access.User{Name: "other", Password: "x"})
	b := server.sitting(t)
	if s := b.signs(); fmt.Sprint(s.Methods) != "[token basic]" {
		t.Errorf("methods: %v", s.Methods)
	}
	if a := b.do(http.MethodPost, "/api/x/session", `{"user":"me","password":"se:cret"}`); a.status != 200 || !b.signs().Rights.Read || b.signs().Rights.Write {
		t.Errorf("%d %s", a.status, a.content)
	}
	for name, other := range map[string]*running{
		"the same":         users(access.User{Name: "me", Password: "se:cret", Role: access.Admin}),
		"another password": users(access.User{Name: "me", Password: "changed"}),
		"another's":        users(access.User{Name: "you", Password: "se:cret"}),
		"another key":      ours(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "me", Password: "se:cret"}}, Seal: seal.New(seal.Fixed(nil))}}),
	} {
		x := other.sitting(t)
		x.takes(b)
		if s := x.signs(); s.Authenticated != (name == "the same") || s.Rights.Admin != (name == "the same") {
			t.Errorf("on a server with %s: %+v", name, s)
		}
	}
	for _, user := range []string{"me", "nobody"} {
		if several() {
			break // each server counts the attempts that it receives
		}
		x := server.sitting(t)
		for i := range 11 {
			want := 401
			if i == 10 {
				want = 429
			}
			if a := x.do(http.MethodPost, "/api/x/session", `{"user":"`+user+`","password":"wrong"}`); a.status != want || len(x.jar) > 0 {
				t.Errorf("try %d of %s: %d %s, want %d", i+1, user, a.status, a.content, want)
			}
		}
		if a := x.do(http.MethodPost, "/api/x/session", `{"user":"`+user+`","password":"se:cret"}`); a.status != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s who has to wait: %d", user, a.status)
		}
	}
	if !b.signs().Authenticated {
		t.Error("others who guess end a session")
	}
}

// TestSessionsEnd checks that a session ends two hours after its last request and twelve hours after it began, whatever
// happens; and that occasional requests keep it alive.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	var at atomic.Int64
	begun := time.Unix(1_700_000_000, 0)
	server := ours(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "me", Password: "p"}}}, Now: func() time.Time { return begun.Add(time.Duration(at.Load())) }})
	b := server.sitting(t)
	b.do(http.MethodPost, "/api/x/session", `{"user":"me","password":"p"}`)
	first := b.cookieOf().Value
	later := func(d time.Duration, want bool) {
		t.Helper()
		at.Store(int64(d))
		if s := b.signs(); s.Authenticated != want {
			t.Errorf("after %s: signed in %v, want %v", d, s.Authenticated, want)
		}
	}
	later(9*time.Minute, true)
	if b.cookieOf().Value != first {
		t.Error("the cookie is another one with each request")
	}
	for d := time.Hour; d < 12*time.Hour; d += 100 * time.Minute {
		later(d, true)
	}
	if k := b.cookieOf(); k.Value == first || k.MaxAge > 3600*2 {
		t.Errorf("the renewed cookie lasts %d s, until after the session's end", k.MaxAge)
	}
	later(12*time.Hour-time.Second, true)
	later(12*time.Hour, false)
	at.Store(0)
	b.jar = map[string]*http.Cookie{}
	b.do(http.MethodPost, "/api/x/session", `{"user":"me","password":"p"}`)
	later(2*time.Hour, false)
	at.Store(int64(time.Hour))
	if a := b.do(http.MethodPost, "/api/schedules/99/enable", `{}`); a.status != 404 || b.cookieOf().Value == first {
		t.Errorf("a change: %d", a.status)
	}
}

// TestWhereCookiesComeFrom checks that over HTTPS, a session is accepted only from a cookie that no other host of the
// domain can have set, that two cookies with the same name are both ignored, that a server on a user's own machine
// accepts no cookie from another port, and that no one can sign in on a page that came without TLS from another
// machine.
func TestWhereCookiesComeFrom(t *testing.T) {
	t.Parallel()
	server := ours(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "me", Password: "p"}}}})
	b := server.sitting(t)
	named := func(r *http.Request) { r.Host = "zerodag.example.com" }
	const body = `{"user":"me","password":"p"}`
	if a := b.do(http.MethodPost, "/api/x/session", body, named, with("Origin", "http://zerodag.example.com")); a.status != 400 || !strings.Contains(string(a.content), "certificate") {
		t.Errorf("on a page without TLS: %d %s", a.status, a.content)
	}
	for name, change := range map[string][]func(*http.Request){
		"by its name":                   {named, with("Origin", "https://zerodag.example.com")},
		"behind a proxy with our Host":  {with("Origin", "https://zerodag.example.com")},
		"by its name without an Origin": {named},
	} {
		x := server.sitting(t)
		if a := x.do(http.MethodPost, "/api/x/session", body, change...); a.status != 200 || !strings.HasPrefix(x.cookieOf().Name, "__Host-zerodag_session") || !x.cookieOf().Secure {
			t.Errorf("%s: %d, cookie %+v", name, a.status, x.cookieOf())
		}
		b.jar = x.jar
	}
	good := b.cookieOf().Value
	session := func(host, cookies string) bool {
		a := server.sitting(t).do(http.MethodGet, "/api/whoami", "", with("Cookie", cookies), func(r *http.Request) { r.Host = host })
		return a.status == 200
	}
	for _, c := range []struct {
		host, cookies string
		want          bool
	}{
		{"zerodag.example.com", "__Host-zerodag_session=" + good, true},
		{"zerodag.example.com", "zerodag_session=" + good, false},
		{"zerodag.example.com", "zerodag_session=evil; __Host-zerodag_session=" + good, true},
		{"zerodag.example.com", "__Host-zerodag_session=" + good + "; __Host-zerodag_session=evil", false},
		{"zerodag.example.com:8443", "__Host-zerodag_session=" + good, true},
		{"127.0.0.1:8080", "__Host-zerodag_session_8080=" + good, true},
		{"127.0.0.1:8080", "zerodag_session_8080=" + good, true},
		{"[::1]:8080", "zerodag_session_8080=" + good, true},
		{"localhost:8080", "zerodag_session_8080=" + good + "; zerodag_session_9090=evil; zerodag_session=evil", true},
		{"localhost:8080", "zerodag_session_9090=" + good, false},
		{"localhost:8080", "zerodag_session=" + good, false},
		{"localhost", "zerodag_session=" + good, true},
		{"localhost", "zerodag_session=" + good + "; zerodag_session=" + good, false},
		{"localhost", "zerodag_session=", false},
		{"localhost", "zerodag_session=" + good + "A", false},
	} {
		if got := session(c.host, c.cookies); got != c.want {
			t.Errorf("%s with %s: %v", c.host, strings.ReplaceAll(c.cookies, good, "GOOD"), got)
		}
	}
}

// TestTwoServersOnOneMachine checks that a browser stays signed in to two servers on its own machine, although it keeps
// the cookies of all ports together.
func TestTwoServersOnOneMachine(t *testing.T) {
	t.Parallel()
	auth := httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "me", Password: "p"}}}}
	one, two := ours(t, auth), ours(t, auth)
	first, second := one.sitting(t), two.sitting(t)
	second.jar = first.jar
	for _, b := range []*browser{first, second} {
		if a := b.do(http.MethodPost, "/api/x/session", `{"user":"me","password":"p"}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.content)
		}
	}
	if len(first.jar) != 2 || !first.signs().Authenticated || !second.signs().Authenticated {
		t.Errorf("signed in at the first: %v, at the second: %v, with the cookies %v", first.signs().Authenticated, second.signs().Authenticated, first.jar)
	}
	if a := second.do(http.MethodDelete, "/api/x/session", ""); a.status != 204 || !first.signs().Authenticated || second.signs().Authenticated {
		t.Errorf("signing out at the second: %d; signed in at the first: %v, at the second: %v", a.status, first.signs().Authenticated, second.signs().Authenticated)
	}
}

// TestWhoShowsAForm checks that a browser shows its own password dialog only if the request does not come from the
// console, and that a header takes precedence over a cookie.
func TestWhoShowsAForm(t *testing.T) {
	t.Parallel()
	server := ours(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "me", Password: "p"}, {Name: "you", Password: "q", Role: access.Viewer}}}})
	b := server.sitting(t)
	if a := b.do(http.MethodGet, "/api/projects", "", without("X-Zerodag-Request")); a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("a program: %d %v", a.status, a.header)
	}
	if a := b.do(http.MethodGet, "/api/projects", ""); a.status != 401 || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("a page: %d %v", a.status, a.header)
	}
	tokens := ours(t, httpapi.Options{Auth: access.Auth{Required: true}}).sitting(t)
	if a := tokens.do(http.MethodGet, "/api/projects", "", without("X-Zerodag-Request")); a.status != 401 || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("where nobody has a password: %d %v", a.status, a.header)
	}
	b.do(http.MethodPost, "/api/x/session", `{"user":"me","password":"p"}`)
	if a := b.do(http.MethodGet, "/api/whoami", "", with("Authorization", basic("you", "q"))); !strings.Contains(string(a.content), `"name":"you"`) {
		t.Errorf("a header and a cookie: %s", a.content)
	}
	if a := b.do(http.MethodGet, "/api/x/session", "", with("Authorization", basic("you", "wrong"))); a.status != 401 {
		t.Errorf("a wrong header and a cookie: %d", a.status)
	}
}

// TestNobodyHasToSignIn checks that a page of a server without login shows no form and gets no session.
func TestNobodyHasToSignIn(t *testing.T) {
	t.Parallel()
	server := ours(t, httpapi.Options{})
	b := server.sitting(t)
	if s := b.signs(); !s.Authenticated || len(s.Methods) > 0 || !s.Rights.Owner || s.User != "" || s.Live != "stream" || s.AWS {
		t.Errorf("%+v", s)
	}
	if a := b.do(http.MethodPost, "/api/x/session", `{"token":"`+server.token(t, 0, "viewer")+`"}`); a.status != 404 || len(b.jar) > 0 {
		t.Errorf("%d %s", a.status, a.content)
	}
}

// TestSignInIsDeliberate checks that no page from another origin can use a form to sign a browser in as another user.
func TestSignInIsDeliberate(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	b, body := server.sitting(t), `{"token":"`+server.token(t, 0, "viewer")+`"}`
	for name, change := range map[string]func(*http.Request){
		"no header":           without("X-Zerodag-Request"),
		"another origin":      with("Sec-Fetch-Site", "cross-site"),
		"another host's page": with("Sec-Fetch-Site", "same-site"),
		"a form":              with("Content-Type", "text/plain"),
	} {
		if a := b.do(http.MethodPost, "/api/x/session", body, change); a.status/100 != 4 || len(b.jar) > 0 {
			t.Errorf("%s: %d %s", name, a.status, a.content)
		}
	}
	if a := b.do(http.MethodGet, "/api/x/session?token="+url.QueryEscape("x"), body); a.status != 200 || len(b.jar) > 0 {
		t.Errorf("by a link: %d", a.status)
	}
}
