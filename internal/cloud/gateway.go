package cloud

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// A public stage has an HTTP API, which calls functions with payload format 2.0. A private stage has a REST API, which
// supports only format 1.0. Both become a call, and the response has the format of its call.

// call is a request that came through API Gateway.
type call struct {
	request *http.Request
	signer  string // the ARN of the principal whose signature API Gateway has checked; "": the request is not signed
	rest    bool   // the call came through a REST API
}

// readCall reads an API Gateway event.
func readCall(ctx context.Context, payload json.RawMessage) (call, error) {
	var form struct {
		Method string `json:"httpMethod"` // the method in a REST API; HTTP APIs have it elsewhere
	}
	if err := json.Unmarshal(payload, &form); err != nil {
		return call{}, fmt.Errorf("read request: %w", err)
	}
	if form.Method == "" {
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(payload, &e); err != nil {
			return call{}, fmt.Errorf("read request: %w", err)
		}
		return ofHTTPAPI(ctx, e)
	}
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &e); err != nil {
		return call{}, fmt.Errorf("read request: %w", err)
	}
	return ofRESTAPI(ctx, e)
}

func ofHTTPAPI(ctx context.Context, e events.APIGatewayV2HTTPRequest) (call, error) {
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	if len(e.Cookies) > 0 { // an HTTP API separates them from the other headers
		header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	// An HTTP API passes the decoded path: unescaping it would decode it twice.
	at := &url.URL{Path: e.RawPath, RawQuery: e.RawQueryString}
	r, err := newRequest(ctx, e.RequestContext.HTTP.Method, at, header, e.Body, e.IsBase64Encoded, e.RequestContext.HTTP.SourceIP)
	c := call{request: r}
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		c.signer = a.IAM.UserARN
	}
	return c, err
}

func ofRESTAPI(ctx context.Context, e events.APIGatewayProxyRequest) (call, error) {
	header := http.Header{}
	for name, values := range e.MultiValueHeaders { // contains all of Headers
		for _, v := range values {
			header.Add(name, v)
		}
	}
	// A REST API passes the path as it was sent, and the query decoded.
	path, err := url.PathUnescape(e.Path)
	if err != nil {
		return call{}, fmt.Errorf("read path: %w", err)
	}
	at := &url.URL{Path: path, RawQuery: url.Values(e.MultiValueQueryStringParameters).Encode()}
	r, err := newRequest(ctx, e.HTTPMethod, at, header, e.Body, e.IsBase64Encoded, e.RequestContext.Identity.SourceIP)
	return call{request: r, signer: e.RequestContext.Identity.UserArn, rest: true}, err
}

func newRequest(ctx context.Context, method string, at *url.URL, header http.Header, text string, encoded bool, from string) (*http.Request, error) {
	body := []byte(text)
	if encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "/", io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	r.URL, r.Header = at, header
	r.ContentLength, r.RequestURI, r.RemoteAddr = int64(len(body)), at.RequestURI(), from+":0"
	return r, nil
}

// answer converts the handler's response to API Gateway's format; text stays unchanged.
func (c call) answer(w *recorder) any {
	w.end()
	header := http.Header{}
	for name, values := range w.sent {
		header[http.CanonicalHeaderKey(name)] = values
	}
	kind := header.Get("Content-Type")
	if header.Get("Content-Encoding") == "" && (strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/")) {
		if a := c.form(w.status, header, w.body.String(), false); fits(a, w.body.Len()) {
			return a
		}
	}
	if a := c.form(w.status, header, base64.StdEncoding.EncodeToString(w.body.Bytes()), true); fits(a, base64.StdEncoding.EncodedLen(w.body.Len())) {
		return a
	}
	return c.problem(http.StatusRequestEntityTooLarge, "The response exceeds the limit of API Gateway (6 MB): request fewer items, or a direct link")
}

// problem returns a response that describes an error.
func (c call) problem(status int, why string) any {
	return c.form(status, http.Header{"Content-Type": {"application/json"}}, fmt.Sprintf(`{"message":%q,"status":%d}`, why, status), false)
}

// form returns a response in the format of the API that received the request. Each cookie needs a separate header and
// must not be joined with others.
func (c call) form(status int, header http.Header, body string, encoded bool) any {
	if c.rest {
		return events.APIGatewayProxyResponse{StatusCode: status, MultiValueHeaders: header, Body: body, IsBase64Encoded: encoded}
	}
	out := events.APIGatewayV2HTTPResponse{StatusCode: status, Headers: map[string]string{}, Body: body, IsBase64Encoded: encoded, Cookies: header["Set-Cookie"]}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Set-Cookie" {
			out.Headers[strings.ToLower(name)] = strings.Join(header[name], ", ")
		}
	}
	return out
}

// fits reports whether Lambda accepts a response with a body of n bytes. The limit applies to its JSON, in which one
// character of a string may take six bytes.
func fits(a any, n int) bool {
	if n < mostAnswer/8 { // headers need little space
		return true
	}
	text, err := json.Marshal(a)
	return err == nil && len(text) <= mostAnswer
}
