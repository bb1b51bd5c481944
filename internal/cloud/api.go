package cloud

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/sandbox"
	"zerodag/internal/seal"
	"zerodag/internal/uploads"
)

// API answers calls of API Gateway with the handler that the server mounts.
type API struct {
	engine  *Engine
	byToken http.Handler
	byIAM   http.Handler
	// runners answers machines of the release before until its route leads to their own function
	// (Engine.Runners); nil: there are none. One release later it can go.
	runners http.Handler
}

// Limits of a request and an answer that pass through API Gateway and Lambda: 6 MB, of
// which base64 takes a quarter.
const (
	maxPayload = 4 << 20
	mostAnswer = 6 << 20 // as JSON
)

// streamTime is how long a stream of events may hold a function; clients come back with their position.
// It bounds what streams take of the account's concurrency.
const streamTime = 5 * time.Second

// signerKey is the key of the principal that signed a request, in its context.
type signerKey struct{}

// signer is the principal of the account that API Gateway has checked the signature of.
func signer(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(signerKey{}).(string)
	return name, ok
}

// API makes the REST API of a deployment: tokens are required, but for requests that API
// Gateway has checked the signature of. The page serves what is not below /api; nil answers 404.
func (e *Engine) API(version string, page http.Handler) (*API, error) {
	box, provider := seal.New(e.sealKey.bytes), e.provider()
	handler := func(signed func(context.Context) (string, bool)) (http.Handler, error) {
		return httpapi.New(httpapi.Options{Node: e.Node, Version: version, Direct: true, ArchiveType: "s3", Uploads: e.Uploads(), Redrive: e.Ticker.Redrive, Dead: e.Ticker.Dead, Depths: e.Depths, UI: page, Logger: e.Logger,
			Auth:   httpapi.Auth{Tokens: e.DB, Audit: e.DB, Required: true, Signed: signed, Seal: box, OIDC: provider},
			Limits: httpapi.Limits{Archive: maxPayload, Upload: maxArchive, Request: 25 * time.Second, Transfer: 25 * time.Second, Stream: streamTime}})
	}
	a := &API{engine: e}
	if e.Sandbox != nil {
		a.runners = e.Sandbox.Handler()
	}
	var err error
	if a.byToken, err = handler(nil); err != nil {
		return nil, err
	}
	a.byIAM, err = handler(signer)
	return a, err
}

// Uploads makes the upload slots of a deployment.
func (e *Engine) Uploads() *uploads.Uploads {
	return &uploads.Uploads{Registrar: e.Node, Blobs: e.Blobs, Signer: e.Blobs, Audit: e.DB, Now: time.Now, Logger: e.Logger}
}

// Upload is what S3 calls when archives were put into slots.
func (e *Engine) Upload(ctx context.Context, call events.S3Event) error {
	keys := make([]string, len(call.Records))
	for i, r := range call.Records {
		keys[i] = r.S3.Object.URLDecodedKey
	}
	return e.Uploads().Register(ctx, keys...)
}

// command is what the account's owner may ask of the function itself.
type command struct {
	Zerodag string `json:"zerodag"`
}

// Handle answers a request of API Gateway, or a command of who may invoke the function.
func (a *API) Handle(ctx context.Context, payload json.RawMessage) (any, error) {
	defer a.engine.settle(ctx)
	var c command
	if err := json.Unmarshal(payload, &c); err == nil && c.Zerodag != "" {
		return a.command(ctx, c.Zerodag)
	}
	defer a.engine.measure("api")()
	var call events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	r, err := request(ctx, call)
	if err != nil {
		return nil, err
	}
	handler := a.byToken
	if a.runners != nil && strings.HasPrefix(r.URL.Path, sandbox.HandlerPath) {
		handler = a.runners
	}
	if path, below := strings.CutPrefix(r.URL.Path, "/iam/"); below {
		who := principal(call)
		if who == "" { // the gateway lets none through: this holds where its routes were changed
			return refused("this path takes signed requests only (SigV4)"), nil
		}
		r = r.WithContext(context.WithValue(ctx, signerKey{}, who))
		r.URL.Path = "/" + path
		handler = a.byIAM
	}
	w := newRecorder()
	handler.ServeHTTP(w, r)
	return answer(w)
}

// principal is who signed the call, as API Gateway says: an ARN. "" for a call that is not signed.
func principal(call events.APIGatewayV2HTTPRequest) string {
	if call.RequestContext.Authorizer == nil || call.RequestContext.Authorizer.IAM == nil {
		return ""
	}
	return call.RequestContext.Authorizer.IAM.UserARN
}

func refused(why string) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusForbidden, Headers: map[string]string{"content-type": "application/json"},
		Body: fmt.Sprintf(`{"message":%q,"status":%d}`, why, http.StatusForbidden)}
}

// command makes the first token: who may invoke the function owns the account.
func (a *API) command(ctx context.Context, name string) (any, error) {
	if name != "first-token" {
		return nil, fmt.Errorf("unknown command %q: first-token is known", name)
	}
	text, hash := httpapi.NewToken()
	_, err := a.engine.DB.Create(ctx, host.Token{Name: "first admin", Role: httpapi.Admin.String(), Hash: hash, CreatedAt: time.Now().UTC()})
	return map[string]string{"token": text}, err
}

func request(ctx context.Context, call events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(call.Body)
	if call.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(call.Body); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, call.RequestContext.HTTP.Method, "/", io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	// An HTTP API hands the path over decoded: to read it as escaped would decode it twice.
	r.URL = &url.URL{Path: call.RawPath, RawQuery: call.RawQueryString}
	for name, value := range call.Headers {
		r.Header.Set(name, value)
	}
	if len(call.Cookies) > 0 { // an HTTP API hands them over apart from the other headers
		r.Header.Set("Cookie", strings.Join(call.Cookies, "; "))
	}
	r.ContentLength, r.RequestURI, r.RemoteAddr = int64(len(body)), r.URL.RequestURI(), call.RequestContext.HTTP.SourceIP+":0"
	return r, nil
}

// answer turns what the handler wrote into what API Gateway takes; text goes as it is.
func answer(w *recorder) (events.APIGatewayV2HTTPResponse, error) {
	w.end()
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}}
	for name, values := range w.sent {
		if name == "Set-Cookie" { // each is a header of its own: they must not be joined
			out.Cookies = values
			continue
		}
		out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	kind := out.Headers["content-type"]
	if out.Headers["content-encoding"] == "" && (strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/")) {
		if out.Body = w.body.String(); fits(out) {
			return out, nil
		}
	}
	out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	if !fits(out) {
		text := `{"message":"The answer is larger than API Gateway carries (6 MB): ask for fewer things, or for a direct link","status":413}`
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusRequestEntityTooLarge, Headers: map[string]string{"content-type": "application/json"}, Body: text}, nil
	}
	return out, nil
}

// fits says that Lambda takes an answer. What counts is its JSON, in which one character of a text may take
// six bytes.
func fits(a events.APIGatewayV2HTTPResponse) bool {
	if len(a.Body) < mostAnswer/8 { // headers are few
		return true
	}
	text, err := json.Marshal(a)
	return err == nil && len(text) <= mostAnswer
}
