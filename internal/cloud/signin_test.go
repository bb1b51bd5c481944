package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/oidc/oidctest"
	"zerodag/internal/seal"
	"zerodag/internal/ssm"
)

// shared is a parameter that several functions share.
type shared struct {
	mu          sync.Mutex
	value       string
	reads, made int
	err         error
}

func (s *shared) Read(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.err == nil && s.value == "" {
		return "", host.ErrNotFound
	}
	return s.value, s.err
}

func (s *shared) Make(_ context.Context, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value == "" {
		s.value, s.made = value, s.made+1
	}
	return s.err
}

// TestSealKey proves that functions agree on one key, read it from time to time, notice a change, end all sessions when
// it is deleted, and report an outage or an invalid value without showing the value.
func TestSealKey(t *testing.T) {
	t.Parallel()
	at, store := time.Unix(1_700_000_000, 0), &shared{}
	function := func(n byte) *keptParameter {
		return &keptParameter{parameter: store, now: func() time.Time { return at }, fresh: func() string { return base64.StdEncoding.EncodeToString(make([]byte, 31+n)) }}
	}
	one, two := function(1), function(2)
	first, err := one.bytes(t.Context())
	second, err2 := two.bytes(t.Context())
	if err != nil || err2 != nil || string(first) != string(second) || store.made != 1 {
		t.Fatalf("%d and %d bytes, made %d times: %v %v", len(first), len(second), store.made, err, err2)
	}
	reads := store.reads
	if _, err := one.bytes(t.Context()); err != nil || store.reads != reads {
		t.Errorf("it is read at each call: %v", err)
	}
	store.value = "secret words"
	if _, err := one.bytes(t.Context()); err != nil {
		t.Errorf("a change is seen at once: %v", err)
	}
	at = at.Add(parameterKept)
	if _, err := one.bytes(t.Context()); err == nil || strings.Contains(err.Error(), "secret words") {
		t.Errorf("what is no key: %v", err)
	}
	store.value, at = "", at.Add(parameterKept)
	if key, err := one.bytes(t.Context()); err != nil || string(key) == "" || store.made != 2 {
		t.Errorf("after it was deleted: %v, made %d times", err, store.made)
	}
	store.err = host.ErrUnavailable
	at = at.Add(parameterKept)
	if _, err := one.bytes(t.Context()); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("an outage: %v", err)
	}
}

// TestClientSecret proves that a provider's client may work without a secret.
func TestClientSecret(t *testing.T) {
	t.Parallel()
	store := &shared{}
	k := &keptParameter{parameter: store, now: time.Now}
	if text, err := k.orNone(t.Context()); text != "" || err != nil || store.made != 0 {
		t.Errorf("%q %v", text, err)
	}
	store.value = "s"
	if text, err := k.orNone(t.Context()); text != "s" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// through calls an API the way API Gateway does, keeping cookies separate from the other headers in both directions.
func through(t *testing.T, a http.Handler, method, path, query, body string, cookies []string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	call := events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Body: body, Cookies: cookies,
		Headers: map[string]string{"host": "abc.execute-api.us-east-1.amazonaws.com", "content-type": "application/json", "x-zerodag-request": "page"}}
	call.RequestContext.HTTP.Method, call.RequestContext.HTTP.SourceIP = method, "192.0.2.1"
	c, err := ofHTTPAPI(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	w := newRecorder()
	a.ServeHTTP(w, c.request)
	return c.answer(w).(events.APIGatewayV2HTTPResponse)
}

// tokens is a store with one token.
type tokens struct{ host.Users }

func (tokens) ByHash(context.Context, []byte) (host.Token, error) {
	return host.Token{Name: "me", Role: "viewer"}, nil
}

func (tokens) SessionsEnded(context.Context, string) (time.Time, error) { return time.Time{}, nil }

// TestSignInThroughTheGateway proves that cookies pass through API Gateway in both directions, each as a separate
// header, that one function accepts a session that another began, and that a user can sign in at a provider that the
// settings name.
func TestSignInThroughTheGateway(t *testing.T) {
	t.Parallel()
	fake := oidctest.New(t)
	fake.Callback = "https://zerodag.example.com" + access.CallbackPath
	fake.Says(map[string]any{"sub": "7", "cognito:groups": []string{"ops"}}, nil)
	key := &shared{value: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	function := func() http.Handler {
		e := &Engine{Logger: slog.New(slog.DiscardHandler), Config: env.Config{OIDC: env.OIDC{Issuer: fake.URL, Client: oidctest.ClientID, Address: "https://zerodag.example.com/",
			Name: "Cognito", Groups: "cognito:groups", Grants: []string{"group:ops=operator"}}}}
		e.sealKey, e.clientSecret = &keptParameter{parameter: key, now: time.Now}, &keptParameter{parameter: &shared{value: oidctest.Secret}, now: time.Now}
		h, err := httpapi.New(httpapi.Options{Version: "1", Auth: access.Auth{Required: true, Tokens: tokens{}, Seal: seal.New(e.sealKey.bytes), OIDC: e.provider()}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	one, two := function(), function()
	in := through(t, one, "POST", "/api/x/session", "", `{"token":"x"}`, nil)
	if in.StatusCode != 200 || len(in.Cookies) != 1 || !strings.HasPrefix(in.Cookies[0], "__Host-zerodag_session=") || !strings.Contains(in.Cookies[0], "; Secure") || in.Headers["set-cookie"] != "" {
		t.Fatalf("%d %s %v", in.StatusCode, in.Body, in.Cookies)
	}
	if out := through(t, two, "GET", "/api/whoami", "", "", append(sent(in.Cookies), "another=1")); out.StatusCode != 200 || !strings.Contains(out.Body, `"name":"me"`) {
		t.Errorf("another function: %d %s", out.StatusCode, out.Body)
	}
	left := through(t, one, "GET", "/api/x/session/oidc", "return=%2Fhome", "", nil)
	back := landing(t, left.Headers["location"])
	done := through(t, two, "GET", access.CallbackPath, back, "", sent(left.Cookies))
	if done.StatusCode != 302 || done.Headers["location"] != "/home" || len(done.Cookies) != 2 {
		t.Fatalf("%d %v %v %s", done.StatusCode, done.Headers, done.Cookies, done.Body)
	}
	if out := through(t, one, "GET", "/api/whoami", "", "", sent(done.Cookies)); !strings.Contains(out.Body, `"by":"oidc","role":"operator"`) {
		t.Errorf("the person: %d %s", out.StatusCode, out.Body)
	}
}

// TestSignInAtAUserPool proves that a user can sign in at a user pool with the settings that a deploy writes: the
// client's secret is the parameter that the settings name, the role comes from the first grant for one of their groups,
// and a user without such a group is refused.
func TestSignInAtAUserPool(t *testing.T) {
	t.Parallel()
	fake := oidctest.Cognito(t)
	const address = "https://abc.execute-api.us-east-1.amazonaws.com"
	fake.Callback = address + env.CallbackPath
	config := env.Config{Stage: "main", OIDC: env.OIDC{Issuer: fake.URL, Client: oidctest.ClientID, Address: address, Name: "single sign-on", Groups: "cognito:groups",
		Grants: []string{"group:owner=owner", "group:admin=admin", "group:operator=operator", "group:viewer=viewer"}, Secret: env.SecretReference("zerodag-main-oidc-abc")}}
	read, err := env.Read(func(name string) (string, bool) { v, ok := config.Variables()[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Logger: slog.New(slog.DiscardHandler), Config: read, clientSecret: &keptParameter{parameter: &shared{value: oidctest.Secret}, now: time.Now}}
	api, err := httpapi.New(httpapi.Options{Auth: access.Auth{Required: true, OIDC: e.provider(), Seal: seal.New(seal.Fixed([]byte("0123456789abcdef")))}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		groups any
		want   string
	}{
		"one group":  {[]string{"operator"}, `"by":"oidc","role":"operator"`},
		"two groups": {[]string{"viewer", "admin"}, `"by":"oidc","role":"admin"`},
		"others":     {[]string{"accounting"}, ""},
		"no group":   {nil, ""},
	} {
		claims := map[string]any{"sub": "5b0e6c2a-0000-4000-8000-2f1f3c4d5e6f", "cognito:username": "5b0e6c2a-0000-4000-8000-2f1f3c4d5e6f", "email": "mia@example.com", "email_verified": true,
			"token_use": "id", "auth_time": time.Now().Unix(), "origin_jti": "a", "jti": "b", "event_id": "c", "at_hash": "d"}
		if c.groups != nil {
			claims["cognito:groups"] = c.groups
		}
		fake.Says(claims, nil)
		left := through(t, api, "GET", "/api/x/session/oidc", "return=%2Fhome", "", nil)
		done := through(t, api, "GET", access.CallbackPath, landing(t, left.Headers["location"]), "", sent(left.Cookies))
		if done.StatusCode != 302 {
			t.Fatalf("%s: %d %s", name, done.StatusCode, done.Body)
		}
		out := through(t, api, "GET", "/api/whoami", "", "", sent(done.Cookies))
		if c.want == "" && out.StatusCode != 401 || !strings.Contains(out.Body, c.want) || c.want != "" && !strings.Contains(out.Body, `"name":"mia@example.com"`) {
			t.Errorf("%s: %d %s", name, out.StatusCode, out.Body)
		}
	}
}

// TestWhereTheClientSecretIs proves that a deploy and the API use the same parameter, and the same path for browsers
// that return from the provider.
func TestWhereTheClientSecretIs(t *testing.T) {
	t.Parallel()
	if env.CallbackPath != access.CallbackPath {
		t.Errorf("a deploy sends browsers back to %s, the API awaits them at %s", env.CallbackPath, access.CallbackPath)
	}
	for want, config := range map[string]env.Config{
		"/zerodag-keys/main/oidc":                             {Stage: "main"},
		"/aws/reference/secretsmanager/zerodag-main-oidc-abc": {Stage: "main", OIDC: env.OIDC{Secret: env.SecretReference("zerodag-main-oidc-abc")}},
	} {
		if got := newClientSecret(aws.Config{}, config).parameter.(*ssm.Parameter).Name(); got != want {
			t.Errorf("the parameter is %s, want %s", got, want)
		}
	}
}

// sent returns the cookies that a response set, in the form that a browser sends.
func sent(list []string) (cookies []string) {
	for _, k := range list {
		name, _, _ := strings.Cut(k, ";")
		cookies = append(cookies, name)
	}
	return cookies
}

// TestWrongProvider proves that with unusable provider settings, the API still serves users with tokens.
func TestWrongProvider(t *testing.T) {
	t.Parallel()
	for _, c := range []env.OIDC{{Issuer: "http://id.example.com", Client: "c", Address: "https://a", Grants: []string{"@e.com=viewer"}}, {Issuer: "https://id.example.com", Client: "c", Address: "https://a"},
		{Issuer: "https://id.example.com", Client: "c", Address: "https://a", Grants: []string{"everybody=owner"}}} {
		var log strings.Builder
		e := &Engine{Logger: slog.New(slog.NewTextHandler(&log, nil)), Config: env.Config{OIDC: c}, clientSecret: &keptParameter{}}
		if p := e.provider(); p != nil || !strings.Contains(log.String(), "sign-in with the identity provider is unavailable") {
			t.Errorf("%+v: %v, %s", c, p, &log)
		}
	}
	if p := (&Engine{}).provider(); p != nil {
		t.Errorf("without settings: %+v", p)
	}
}

// landing follows the redirect to the provider, and returns the address to which the provider sends the browser back.
func landing(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	back, err := a.Location()
	if err != nil {
		t.Fatalf("%s: %d %v", address, a.StatusCode, err)
	}
	return back.RawQuery
}
