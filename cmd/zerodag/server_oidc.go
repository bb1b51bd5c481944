package main

import (
	"context"
	"fmt"
	"strings"

	"zerodag/internal/httpapi"
	"zerodag/internal/oidc"
)

// provider reads where people sign in besides (server.md#signing-in-a-browser); nil for nowhere.
func provider(r *reading) (*httpapi.OIDC, error) {
	const prefix = "server.authenticator.oidc."
	issuer, client, address := r.text(prefix+"issuer", ""), r.text(prefix+"client-id", ""), r.text(prefix+"address", "")
	secret, grants := r.text(prefix+"client-secret", ""), r.text(prefix+"grants", "")
	o := oidc.Options{Issuer: issuer, ClientID: client, Groups: r.text(prefix+"groups-claim", "")}
	if scopes := r.text(prefix+"scopes", ""); scopes != "" {
		o.Scopes = strings.Fields(scopes)
	}
	name := r.text(prefix+"name", "single sign-on")
	if issuer == "" {
		if client+secret+grants+address != "" {
			return nil, fmt.Errorf("configuration key %sissuer is missing: the others of %s have no meaning without it", prefix, prefix+"*")
		}
		return nil, nil
	}
	if secret != "" {
		o.Secret = func(context.Context) (string, error) { return secret, nil }
	}
	o.Callback = strings.TrimSuffix(address, "/") + httpapi.CallbackPath
	p, err := oidc.New(o)
	if err != nil {
		return nil, fmt.Errorf("configuration keys %s*: %w", prefix, err)
	}
	list, err := httpapi.ParseGrants(grants)
	if err != nil {
		return nil, fmt.Errorf("configuration key %sgrants: %w", prefix, err)
	}
	return &httpapi.OIDC{Provider: p, Name: name, Grants: list}, nil
}
