// Package oidc lets users sign in with a provider of OpenID Connect (Cognito, Entra ID, Google, Keycloak ...), using
// the authorization code flow with PKCE: a driver of host.Identities.
//
// The wiring of the API creates it. It must never decide what a user may do, nor include a code, a token or the
// client's secret in an error.
package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"zerodag/internal/host"
)

// Options holds the settings of a Provider.
type Options struct {
	Issuer   string // URL, as in the provider's own metadata
	ClientID string
	// Secret returns the client's secret; it is nil for a client without one.
	Secret   func(ctx context.Context) (string, error)
	Callback string   // URL to which the provider sends browsers back
	Scopes   []string // in addition to openid; nil means email and profile
	Groups   string   // the claim that lists groups; "" means "groups"
	Now      func() time.Time
}

// Provider is a host.Identities. It is safe for concurrent use.
type Provider struct {
	Options
	client *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil until the provider's metadata has been read
}

// Limits on the calls to a provider.
const (
	callTime   = 10 * time.Second
	mostAnswer = 1 << 20 // bytes
)

// New returns a Provider, which reads the provider's metadata at the first sign-in. New fails if traffic to an address
// could be read or changed in transit.
func New(o Options) (*Provider, error) {
	for name, address := range map[string]string{"issuer": o.Issuer, "address of this server": o.Callback} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return nil, fmt.Errorf("the %s must be a URL that begins with https:// but is %q", name, address)
		}
	}
	if o.ClientID == "" {
		return nil, errors.New("the client id, which identifies this server to the provider, is missing")
	}
	if o.Scopes == nil {
		o.Scopes = []string{"email", "profile"}
	}
	if o.Groups == "" {
		o.Groups = "groups"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{Options: o, client: &http.Client{Timeout: callTime, Transport: bounded{http.DefaultTransport}}}, nil
}

func loopback(name string) bool {
	address := net.ParseIP(name)
	return name == "localhost" || address != nil && address.IsLoopback()
}

// bounded cuts off responses that are larger than any provider's.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		a.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(a.Body, mostAnswer), a.Body}
	}
	return a, err
}

// discovered returns the provider's metadata, which it requests until it has once received a response.
func (p *Provider) discovered(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider keeps the context to read its keys, so the context must outlive the call.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: discover the provider %s: %w", host.ErrUnavailable, p.Issuer, err)
	}
	p.found = found
	return found, nil
}

// config returns the OAuth configuration of this server, without the client's secret.
func (p *Provider) config(at *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, Endpoint: at.Endpoint(), RedirectURL: p.Callback, Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}
}

// Begin implements host.Identities.
func (p *Provider) Begin(ctx context.Context, s host.SignIn) (string, error) {
	at, err := p.discovered(ctx)
	if err != nil {
		return "", err
	}
	return p.config(at).AuthCodeURL(s.State, oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)), nil
}

// Finish implements host.Identities.
func (p *Provider) Finish(ctx context.Context, s host.SignIn, code string) (host.Person, error) {
	if code == "" {
		return host.Person{}, denied("the provider returned no code")
	}
	at, err := p.discovered(ctx)
	if err != nil {
		return host.Person{}, err
	}
	c := p.config(at)
	if p.Secret != nil {
		secret, err := p.Secret(ctx)
		if err != nil {
			return host.Person{}, fmt.Errorf("read the secret of the client: %w", err)
		}
		c.ClientSecret = strings.TrimSpace(secret)
	}
	token, err := c.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return host.Person{}, refused(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return host.Person{}, denied("it returned no id token")
	}
	id, err := at.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.Now}).Verify(oidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		return host.Person{}, denied("its id token is invalid: " + err.Error())
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(s.Nonce)) != 1 {
		return host.Person{}, denied("its id token belongs to a different sign-in")
	}
	return p.person(id)
}

// refused distinguishes a provider's refusal of a code from an outage.
func refused(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError {
		code := answer.ErrorCode
		if code == "" {
			code = answer.Response.Status
		}
		return denied("it responded with " + code)
	}
	return fmt.Errorf("%w: exchange the code at the identity provider", host.ErrUnavailable)
}

func denied(why string) error {
	return &host.Error{Code: host.Forbidden, Message: "The identity provider did not confirm the sign-in: " + why}
}

// claims holds the claims about a user that are read from an ID token.
type claims struct {
	Email    string `json:"email"`
	Verified yes    `json:"email_verified"`
}

// yes is a boolean, which some providers write as text.
type yes bool

// UnmarshalJSON reads both forms; anything else is false.
func (y *yes) UnmarshalJSON(b []byte) error {
	*y = string(b) == "true" || string(b) == `"true"`
	return nil
}

// texts is a list of strings, which may be written as a single string.
type texts []string

// UnmarshalJSON reads both forms; anything else is an empty list.
func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = texts{one}
		return nil
	}
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*t = list
	}
	return nil
}

func (p *Provider) person(id *oidc.IDToken) (host.Person, error) {
	var c claims
	all := map[string]json.RawMessage{}
	if err := errors.Join(id.Claims(&c), id.Claims(&all)); err != nil {
		return host.Person{}, denied("the claims of its id token cannot be read")
	}
	who := host.Person{Name: id.Subject}
	if c.Verified && c.Email != "" {
		who.Name, who.Email = c.Email, c.Email
	}
	var groups texts
	if raw, said := all[p.Groups]; said {
		_ = groups.UnmarshalJSON(raw) // never fails
	}
	who.Groups = groups
	return who, nil
}
