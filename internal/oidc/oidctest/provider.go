// Package oidctest provides an identity provider for tests, on 127.0.0.1: a test sets its metadata, its keys and its
// users, and it checks requests like a real provider.
//
// Tests use it. It must never be linked into a program because it trusts every caller.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The credentials of the provider's client.
const (
	ClientID = "zerodag"
	Secret   = "the-clients-secret" // #nosec G101 -- the secret of a test provider
)

// Provider signs in the user that the test sets, without asking.
type Provider struct {
	URL      string
	Callback string // to which it sends browsers back; other addresses are refused

	mu     sync.Mutex
	key    *rsa.PrivateKey
	claims map[string]any // the claims of the next users
	header map[string]any // the header of their ID tokens, overriding the correct one
	codes  map[string]code
	broken bool

	pages string // where users sign in and codes are exchanged
	paths paths
	says  map[string]any // its metadata, except the addresses of its parts
}

// paths holds the addresses of a provider's endpoints: authorize and token below its pages, keys below its URL.
type paths struct{ authorize, token, keys string }

// code is the data of an authorization code, which can be exchanged once for an ID token.
type code struct {
	nonce, challenge string
	claims           map[string]any
}

// New starts a provider.
func New(t *testing.T) *Provider {
	t.Helper()
	p := newProvider(t, paths{"/authorize", "/token", "/keys"})
	p.URL = p.serve(t, "")
	p.pages = p.URL
	return p
}

// Cognito starts a provider like a user pool: its URL contains the pool in its path, users sign in on another host, and
// its metadata is like Cognito's.
func Cognito(t *testing.T) *Provider {
	t.Helper()
	p := newProvider(t, paths{"/oauth2/authorize", "/oauth2/token", "/.well-known/jwks.json"})
	p.pages = p.serve(t, "")
	const pool = "/eu-central-1_AbCdEfGhI"
	p.URL = p.serve(t, pool) + pool
	p.says = map[string]any{"end_session_endpoint": p.pages + "/logout", "revocation_endpoint": p.pages + "/oauth2/revoke", "userinfo_endpoint": p.pages + "/oauth2/userInfo",
		"response_types_supported": []string{"code", "token"}, "scopes_supported": []string{"openid", "email", "phone", "profile"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post"}}
	return p
}

func newProvider(t *testing.T, at paths) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &Provider{key: key, codes: map[string]code{}, claims: map[string]any{"sub": "nobody"}, paths: at}
}

// serve runs the provider's endpoints on a separate host and returns its address.
func (p *Provider) serve(t *testing.T, below string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+below+"/.well-known/openid-configuration", p.discover)
	mux.HandleFunc("GET "+below+p.paths.keys, p.keys)
	mux.HandleFunc("GET "+p.paths.authorize, p.authorize)
	mux.HandleFunc("POST "+p.paths.token, p.token)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Says sets the claims of the next users to sign in. Standard claims, such as iss, can be overridden; header overrides
// the correct header of the ID token.
func (p *Provider) Says(claims, header map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims, p.header = claims, header
}

// Break makes the provider fail from now on, or stop failing.
func (p *Provider) Break(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

func (p *Provider) discover(w http.ResponseWriter, _ *http.Request) {
	if p.fails(w) {
		return
	}
	all := map[string]any{"issuer": p.URL, "authorization_endpoint": p.pages + p.paths.authorize, "token_endpoint": p.pages + p.paths.token, "jwks_uri": p.URL + p.paths.keys,
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}}
	maps.Copy(all, p.says)
	reply(w, all)
}

func (p *Provider) fails(w http.ResponseWriter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		http.Error(w, "down", http.StatusServiceUnavailable)
	}
	return p.broken
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	e := big.NewInt(int64(p.key.E)).Bytes()
	reply(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": encode(p.key.N.Bytes()), "e": encode(e)}}})
}

// authorize sends the browser back at once, with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("redirect_uri") != p.Callback || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "the client is registered with a different value", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := rand.Text()
	p.codes[text] = code{q.Get("nonce"), q.Get("code_challenge"), p.claims}
	http.Redirect(w, r, p.Callback+"?"+url.Values{"code": {text}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

// token exchanges a code, once, for a client that has the verifier and the secret.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if p.fails(w) {
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if id != ClientID || secret != Secret {
		refuse(w, "invalid_client")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, there := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !there || encode(sum[:]) != c.challenge || r.FormValue("redirect_uri") != p.Callback {
		refuse(w, "invalid_grant")
		return
	}
	now := time.Now()
	all := map[string]any{"iss": p.URL, "aud": ClientID, "nonce": c.nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range c.claims {
		all[name] = value
	}
	header := map[string]any{"alg": "RS256", "kid": "1"}
	for name, value := range p.header {
		header[name] = value
	}
	reply(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "id_token": p.sign(header, all)})
}

// sign creates an ID token. The signature is always RS256, no matter what the header claims; with alg none, there is no
// signature.
func (p *Provider) sign(header, claims map[string]any) string {
	text := encode(marshal(header)) + "." + encode(marshal(claims))
	if header["alg"] == "none" {
		return text + "."
	}
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		panic(fmt.Sprintf("oidctest: sign: %v", err)) // a key of 2048 bits can
	}
	return text + "." + encode(signature)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("oidctest: %v", err)) // the test set a value that JSON cannot express
	}
	return text
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(marshal(v)) // the client is gone
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(marshal(map[string]string{"error": why, "error_description": "secret details"})) // the client is gone
}
