package cloud

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/oidc"
	"zerodag/internal/seal"
	"zerodag/internal/ssm"
)

// parameter is a string that functions share.
type parameter interface {
	Read(ctx context.Context) (string, error)
	Make(ctx context.Context, value string) error
}

// keptParameter reads a deployment parameter and keeps it for a while. It is safe for concurrent use.
type keptParameter struct {
	parameter
	fresh func() string // creates the value of a missing parameter; nil: a missing parameter is not created

	mu    sync.Mutex
	value string
	until time.Time
	now   func() time.Time
}

// parameterKept is how long a parameter is cached: a key that was replaced because it leaked is no longer used after
// that time.
const parameterKept = 5 * time.Minute

// newSealKey returns the parameter with the key that seals sign-in cookies. The first process that needs the key
// creates it; deleting the parameter ends all sessions.
func newSealKey(account aws.Config, config env.Config) *keptParameter {
	return &keptParameter{parameter: ssm.NewParameter(account, env.Keys(config.Stage)+env.SealKey, config.Key), now: wall, fresh: func() string {
		key := make([]byte, 32)
		rand.Read(key) // never fails
		return base64.StdEncoding.EncodeToString(key)
	}}
}

// newClientSecret returns the parameter with the secret by which the identity provider recognizes the deployment. A
// user stores the secret there or, if the stage has a user pool, deploying the stage does.
func newClientSecret(account aws.Config, config env.Config) *keptParameter {
	return &keptParameter{parameter: ssm.NewParameter(account, cmp.Or(config.OIDC.Secret, env.Keys(config.Stage)+env.ClientSecret), ""), now: wall}
}

// text returns the value.
func (k *keptParameter) text(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value != "" && k.now().Before(k.until) {
		return k.value, nil
	}
	value, err := k.Read(ctx)
	if errors.Is(err, host.ErrNotFound) && k.fresh != nil {
		if err := k.Make(ctx, k.fresh()); err != nil {
			return "", err
		}
		// Another function may have been faster: in that case, all functions use its value.
		if value, err = k.Read(ctx); errors.Is(err, host.ErrNotFound) {
			err = fmt.Errorf("%w: %w", host.ErrUnavailable, err) // the new value can be read a moment later
		}
	}
	if err != nil {
		return "", err
	}
	k.value, k.until = value, k.now().Add(parameterKept)
	return value, nil
}

// bytes returns the value of a key.
func (k *keptParameter) bytes(ctx context.Context) ([]byte, error) {
	text, err := k.text(ctx)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) < seal.KeySize { // the error omits the value, which may be close to the key
		return nil, fmt.Errorf("the parameter with the key that seals sign-ins must be base64 of at least %d bytes", seal.KeySize)
	}
	return key, nil
}

// provider creates the connection to the identity provider for sign-ins; nil if the deployment has none. If its
// settings are wrong, only users with tokens can use the API.
func (e *Engine) provider() *access.OIDC {
	c := e.Config.OIDC
	if c.Issuer == "" {
		return nil
	}
	grants, err := access.ParseGrants(strings.Join(c.Grants, "\n"))
	if err == nil {
		var p *oidc.Provider
		if p, err = oidc.New(oidc.Options{Issuer: c.Issuer, ClientID: c.Client, Secret: e.clientSecret.orNone, Callback: strings.TrimSuffix(c.Address, "/") + access.CallbackPath, Groups: c.Groups, Now: wall}); err == nil {
			return &access.OIDC{Provider: p, Name: c.Name, Grants: grants}
		}
	}
	e.Logger.Error("sign-in with the identity provider is unavailable", "error", err)
	return nil
}

// orNone returns the value, or "" if the parameter does not exist: a client may work without a secret.
func (k *keptParameter) orNone(ctx context.Context) (string, error) {
	text, err := k.text(ctx)
	if errors.Is(err, host.ErrNotFound) {
		return "", nil
	}
	return text, err
}
