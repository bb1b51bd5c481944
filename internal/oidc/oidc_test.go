package oidc_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/oidc"
	"zerodag/internal/oidc/oidctest"
)

const callback = "http://localhost:1/callback"

// begun returns a sign-in in progress.
func begun() host.SignIn {
	return host.SignIn{State: "the-state", Nonce: "the-nonce", Verifier: strings.Repeat("verifier", 6)}
}

func start(t *testing.T, change func(*oidc.Options)) (*oidctest.Provider, *oidc.Provider) {
	t.Helper()
	fake := oidctest.New(t)
	fake.Callback = callback
	o := oidc.Options{Issuer: fake.URL, ClientID: oidctest.ClientID, Callback: callback, Secret: func(context.Context) (string, error) { return oidctest.Secret + "\n", nil }}
	if change != nil {
		change(&o)
	}
	p, err := oidc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return fake, p
}

// visit follows the address to which a browser is sent, and returns the query with which it comes back.
func visit(t *testing.T, address string) url.Values {
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
	if err != nil || !strings.HasPrefix(back.String(), callback+"?") {
		t.Fatalf("%s: %d %v", address, a.StatusCode, err)
	}
	return back.Query()
}

// TestSignIn proves that the request to the provider has a state, a nonce and a PKCE challenge, that its ID token
// identifies the user, whatever form its claims have, and that a code is valid only once.
func TestSignIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		groups string
		claims map[string]any
		want   host.Person
	}{
		{"verified", "", map[string]any{"sub": "1", "email": "Alice@example.com", "email_verified": true, "groups": []string{"a", "b"}},
			host.Person{Name: "Alice@example.com", Email: "Alice@example.com", Groups: []string{"a", "b"}}},
		{"verified as text", "", map[string]any{"sub": "1", "email": "a@example.com", "email_verified": "true"}, host.Person{Name: "a@example.com", Email: "a@example.com"}},
		{"not verified", "", map[string]any{"sub": "1", "email": "a@example.com", "email_verified": false}, host.Person{Name: "1"}},
		{"not said whether verified", "", map[string]any{"sub": "1", "email": "a@example.com"}, host.Person{Name: "1"}},
		{"another claim of groups", "cognito:groups", map[string]any{"sub": "1", "cognito:groups": []string{"ops"}, "groups": []string{"no"}}, host.Person{Name: "1", Groups: []string{"ops"}}},
		{"one group as text", "", map[string]any{"sub": "1", "groups": "ops"}, host.Person{Name: "1", Groups: []string{"ops"}}},
		{"groups that are none", "", map[string]any{"sub": "1", "groups": map[string]any{"ops": true}}, host.Person{Name: "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake, p := start(t, func(o *oidc.Options) { o.Groups = c.groups })
			fake.Says(c.claims, nil)
			address, err := p.Begin(t.Context(), begun())
			if err != nil {
				t.Fatal(err)
			}
			u, _ := url.Parse(address)
			if q := u.Query(); q.Get("state") != "the-state" || q.Get("nonce") != "the-nonce" || q.Get("scope") != "openid email profile" || strings.Contains(address, begun().Verifier) {
				t.Errorf("asked with %s", address)
			}
			back := visit(t, address)
			got, err := p.Finish(t.Context(), begun(), back.Get("code"))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if _, err := p.Finish(t.Context(), begun(), back.Get("code")); !isDenied(err) {
				t.Errorf("a code that was used: %v", err)
			}
		})
	}
}

func isDenied(err error) bool {
	var user *host.Error
	return errors.As(err, &user) && user.Code == host.Forbidden
}

// TestWhatIsNotBelieved proves that neither an ID token that is for another client, old, from another sign-in or
// unsigned, nor a code from another browser, lets anyone in, and that no error shows a secret.
func TestWhatIsNotBelieved(t *testing.T) {
	t.Parallel()
	person := func(with ...any) map[string]any {
		m := map[string]any{"sub": "1"}
		for i := 0; i < len(with); i += 2 {
			m[with[i].(string)] = with[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name           string
		claims, header map[string]any
		change         func(*host.SignIn)
		secret         string
	}{
		{name: "another client's", claims: person("aud", "other")},
		{name: "another issuer's", claims: person("iss", "http://localhost:1")},
		{name: "expired", claims: person("exp", time.Now().Add(-time.Minute).Unix())},
		{name: "of another nonce", claims: person("nonce", "other")},
		{name: "without a nonce", claims: person("nonce", "")},
		{name: "not signed", claims: person(), header: map[string]any{"alg": "none"}},
		{name: "signed with what all know", claims: person(), header: map[string]any{"alg": "HS256"}},
		{name: "signed by an unknown key", claims: person(), header: map[string]any{"kid": "2"}},
		{name: "code of another browser", claims: person(), change: func(s *host.SignIn) { s.Verifier = strings.Repeat("another", 7) }},
		{name: "wrong secret", claims: person(), secret: "another"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake, p := start(t, func(o *oidc.Options) {
				if c.secret != "" {
					o.Secret = func(context.Context) (string, error) { return c.secret, nil }
				}
			})
			fake.Says(c.claims, c.header)
			address, err := p.Begin(t.Context(), begun())
			if err != nil {
				t.Fatal(err)
			}
			code, s := visit(t, address).Get("code"), begun()
			if c.change != nil {
				c.change(&s)
			}
			got, err := p.Finish(t.Context(), s, code)
			if !isDenied(err) || got.Name != "" {
				t.Fatalf("%+v %v, want it denied", got, err)
			}
			for _, secret := range []string{code, s.Verifier, oidctest.Secret, "secret details"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%v shows %s", err, secret)
				}
			}
		})
	}
	if _, p := start(t, nil); !isDenied(errorOf(p.Finish(t.Context(), begun(), ""))) {
		t.Error("without a code somebody gets in")
	}
}

func errorOf(_ host.Person, err error) error { return err }

// TestProviderThatDoesNotAnswer proves that an outage is reported as an outage, and that sign-in works again afterwards
// without intervention.
func TestProviderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	fake, p := start(t, nil)
	fake.Break(true)
	if _, err := p.Begin(t.Context(), begun()); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("begin: %v", err)
	}
	fake.Break(false)
	address, err := p.Begin(t.Context(), begun())
	if err != nil {
		t.Fatalf("after the outage: %v", err)
	}
	code := visit(t, address).Get("code")
	fake.Break(true)
	if _, err := p.Finish(t.Context(), begun(), code); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("finish: %v", err)
	}
}

// TestAddresses proves that the addresses of a provider and a server must be https, except on the local machine.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		issuer, callback, client string
		good                     bool
	}{
		{"https://id.example.com", "https://zerodag.example.com/cb", "x", true},
		{"http://127.0.0.1:1", "http://localhost:2/cb", "x", true},
		{"http://id.example.com", "https://zerodag.example.com/cb", "x", false},
		{"https://id.example.com", "http://zerodag.example.com/cb", "x", false},
		{"id.example.com", "https://zerodag.example.com/cb", "x", false},
		{"https://id.example.com", "", "x", false},
		{"https://id.example.com", "https://zerodag.example.com/cb", "", false},
	} {
		if _, err := oidc.New(oidc.Options{Issuer: c.issuer, Callback: c.callback, ClientID: c.client}); (err == nil) != c.good {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
