package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/seal"
	"zerodag/internal/uploads"
)

// API handles calls from API Gateway with the handler that the server mounts.
type API struct {
	engine  *Engine
	byToken http.Handler
	byIAM   http.Handler
}

// Limits on a request and a response that pass through API Gateway and Lambda: 6 MB, of which base64 takes up a
// quarter.
const (
	maxPayload = 4 << 20
	mostAnswer = 6 << 20 // as JSON
)

// streamTime is how long an event stream may occupy a function; clients reconnect with their position. It limits the
// streams' share of the account's concurrency.
const streamTime = 5 * time.Second

// signerKey is the key of the principal that signed a request, in its context.
type signerKey struct{}

// signer returns the account's principal whose signature API Gateway has checked.
func signer(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(signerKey{}).(string)
	return name, ok
}

// API creates a deployment's REST API. Tokens are required, except for requests whose signature API Gateway has
// checked. The handler page serves everything outside /api; if it is nil, the response is 404.
func (e *Engine) API(version string, page http.Handler) (*API, error) {
	box, provider := seal.New(e.sealKey.bytes), e.provider()
	principals, err := access.ParsePrincipals(e.Config.IAMGrants)
	if err != nil { // until the setting is corrected no one can sign in, which is better than admitting everyone as owner
		e.Logger.Error("requests signed with IAM credentials are rejected", "error", err)
		principals = access.Principals{}
	}
	handler := func(signed func(context.Context) (string, bool)) (http.Handler, error) {
		return httpapi.New(httpapi.Options{Node: e.Node, Version: version, Direct: true, ArchiveType: "s3", Uploads: e.Uploads(), Redrive: e.Ticker.Redrive, Dead: e.Ticker.Dead, Depths: e.Depths, UI: page, Logger: e.Logger,
			Auth:   access.Auth{Tokens: e.DB, Audit: e.DB, Required: true, Signed: signed, Principals: principals, Seal: box, OIDC: provider},
			Limits: httpapi.Limits{Archive: maxPayload, Upload: maxArchive, Request: 25 * time.Second, Transfer: 25 * time.Second, Stream: streamTime}})
	}
	a := &API{engine: e}
	if a.byToken, err = handler(nil); err != nil {
		return nil, err
	}
	a.byIAM, err = handler(signer)
	return a, err
}

// Uploads creates the service for upload slots of a deployment.
func (e *Engine) Uploads() *uploads.Uploads {
	return &uploads.Uploads{Registrar: e.Node, Blobs: e.Blobs, Signer: e.Blobs, Audit: e.DB, Now: time.Now, Logger: e.Logger}
}

// Upload handles the event that S3 sends when archives have been put into slots.
func (e *Engine) Upload(ctx context.Context, call events.S3Event) error {
	keys := make([]string, len(call.Records))
	for i, r := range call.Records {
		keys[i] = r.S3.Object.URLDecodedKey
	}
	return e.Uploads().Register(ctx, keys...)
}

// command is a request that the account's owner sends to the function itself.
type command struct {
	Zerodag string `json:"zerodag"`
}

// Handle responds to a request from API Gateway, or to a command from a caller who may invoke the function.
func (a *API) Handle(ctx context.Context, payload json.RawMessage) (any, error) {
	defer a.engine.awaitBackground(ctx)
	var asked command
	if err := json.Unmarshal(payload, &asked); err == nil && asked.Zerodag != "" {
		return a.command(ctx, asked.Zerodag)
	}
	defer a.engine.measure("api")()
	return a.serve(ctx, payload)
}

// serve responds to a request from API Gateway.
func (a *API) serve(ctx context.Context, payload json.RawMessage) (any, error) {
	c, err := readCall(ctx, payload)
	if err != nil {
		return nil, err
	}
	r, handler := c.request, a.byToken
	if path, below := strings.CutPrefix(r.URL.Path, "/iam/"); below {
		if c.signer == "" { // the gateway rejects such requests unless its routes were changed
			return c.problem(http.StatusForbidden, "this path accepts only signed requests (SigV4)"), nil
		}
		r = r.WithContext(context.WithValue(ctx, signerKey{}, c.signer))
		r.URL.Path = "/" + path
		handler = a.byIAM
	}
	return a.engine.answer(handler, c, r), nil
}

// answer passes a request to the handler, and counts responses that report a server error (5xx).
func (e *Engine) answer(handler http.Handler, c call, r *http.Request) any {
	w := newRecorder()
	handler.ServeHTTP(w, r)
	if w.status >= http.StatusInternalServerError {
		e.refused.Add(1)
	}
	return c.answer(w)
}

// command creates the first token: a caller who may invoke the function owns the account.
func (a *API) command(ctx context.Context, name string) (any, error) {
	if name != "first-token" {
		return nil, fmt.Errorf("unknown command %q: use first-token", name)
	}
	text, hash := access.NewToken()
	_, err := a.engine.DB.Create(ctx, host.Token{Name: "first admin", Role: access.Admin.String(), Hash: hash, CreatedAt: time.Now().UTC()})
	return map[string]string{"token": text}, err
}
