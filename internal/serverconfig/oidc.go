package serverconfig

import (
	"context"
	"fmt"
	"strings"

	"zerodag/internal/configuration"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/oidc"
)

// provider reads the identity provider for sign-ins (server.md#signing-in-with-a-browser); nil means none.
func provider(r *configuration.Reading) (*access.OIDC, error) {
	const prefix = "server.authenticator.oidc."
	issuer, client, address := r.Text(prefix+"issuer", ""), r.Text(prefix+"client-id", ""), r.Text(prefix+"address", "")
	secret, grants := r.Text(prefix+"client-secret", ""), r.Text(prefix+"grants", "")
	o := oidc.Options{Issuer: issuer, ClientID: client, Groups: r.Text(prefix+"groups-claim", "")}
	if scopes := r.Text(prefix+"scopes", ""); scopes != "" {
		o.Scopes = strings.Fields(scopes)
	}
	name := r.Text(prefix+"name", "single sign-on")
	if issuer == "" {
		if client+secret+grants+address != "" {
			return nil, fmt.Errorf("configuration key %sissuer is missing: the other keys of %s have no effect without it", prefix, prefix+"*")
		}
		return nil, nil
	}
	if secret != "" {
		o.Secret = func(context.Context) (string, error) { return secret, nil }
	}
	o.Callback = strings.TrimSuffix(address, "/") + access.CallbackPath
	p, err := oidc.New(o)
	if err != nil {
		return nil, fmt.Errorf("configuration keys %s*: %w", prefix, err)
	}
	list, err := access.ParseGrants(grants)
	if err != nil {
		return nil, fmt.Errorf("configuration key %sgrants: %w", prefix, err)
	}
	return &access.OIDC{Provider: p, Name: name, Grants: list}, nil
}
