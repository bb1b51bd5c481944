// Package awscall sends requests to AWS services without a client of the SDK: it signs them, repeats throttled ones,
// and reads the response, which is XML or JSON.
//
// Package account and the test bed's runs on an account use it for the few requests to services whose clients are not
// linked: each SDK client builds tables before main runs, which would slow down every command of zerodag
// (docs/adr/0020). It must never print a credential, and must stay independent of any service.
package awscall

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/sigv4"
)

// Client sends requests with the credentials of a configuration.
type Client struct{ config aws.Config }

// New returns a client. It makes no request yet. An endpoint in the configuration replaces the endpoints of all
// services.
func New(c aws.Config) *Client { return &Client{c} }

// Service holds a service's address, and the name and region that requests to it are signed for.
type Service struct{ Name, Endpoint, Region string }

// Regional returns a service's address in the configured region.
func (c *Client) Regional(name string) Service {
	return Service{name, sigv4.Endpoint(name, c.config.Region), c.config.Region}
}

// Refusal is an error in a service's response.
type Refusal struct {
	Code, Message string
	Status        int // the HTTP status
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("status %d, %s: %s", r.Status, r.Code, r.Message)
}

// Query sends a form whose Action is the operation and reads the XML response.
func (c *Client) Query(ctx context.Context, to Service, form url.Values, answer any) error {
	text, status, err := c.Send(ctx, to, posted([]byte(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}))
	if err != nil {
		return err
	}
	if status == http.StatusOK {
		return xml.Unmarshal(text, answer) // #nosec G709 -- XML sets the fields of our structs, and runs nothing
	}
	var e struct { // EC2 nests errors one level deeper
		Error  struct{ Code, Message string } `xml:"Error"`
		Errors struct{ Code, Message string } `xml:"Errors>Error"`
	}
	if err := xml.Unmarshal(text, &e); err != nil { // #nosec G709 -- as above
		return &Refusal{Message: fmt.Sprintf("%.200s", text), Status: status}
	}
	return &Refusal{e.Error.Code + e.Errors.Code, e.Error.Message + e.Errors.Message, status}
}

// Call sends a value as JSON and reads the JSON response.
func (c *Client) Call(ctx context.Context, to Service, operation string, in, answer any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	text, status, err := c.Send(ctx, to, posted(body, http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {operation}}))
	if err != nil {
		return err
	}
	return ReadJSON(text, status, answer)
}

// Get reads the value at a path.
func (c *Client) Get(ctx context.Context, to Service, path string, query url.Values, answer any) error {
	text, status, err := c.Send(ctx, to, Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return err
	}
	return ReadJSON(text, status, answer)
}

// ReadJSON reads a response into a value, or returns the *Refusal that the response contains. It does nothing if the
// value is nil or the body is empty.
func ReadJSON(text []byte, status int, answer any) error {
	if status == http.StatusOK && (len(text) == 0 || answer == nil) {
		return nil
	}
	if status == http.StatusOK {
		return json.Unmarshal(text, answer)
	}
	var e struct {
		Code    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return &Refusal{Message: fmt.Sprintf("%.200s", text), Status: status}
	}
	return &Refusal{e.Code[strings.LastIndex(e.Code, "#")+1:], e.Message, status} // some services put a namespace before it
}

// mostAnswer is the maximum number of bytes that are read from a response: enough for a thousand VPCs with their tags.
const mostAnswer = 16 << 20

// tries limits how many times a request is sent.
const tries = 6

// firstPause is the wait before the first retry; each later wait is twice as long.
const firstPause = 200 * time.Millisecond

// errNoCredentials is the error for requests that cannot be signed.
var errNoCredentials = errors.New("there are no AWS credentials: log in (aws sso login), name a profile in AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// Request is a request to a service.
type Request struct {
	Method, Path string // Path is encoded
	Query        url.Values
	body         []byte
	header       http.Header
}

// posted returns a request for a protocol that names the operation in the body or in a header.
func posted(body []byte, header http.Header) Request {
	return Request{Method: http.MethodPost, Path: "/", body: body, header: header}
}

// Send sends a signed request, and repeats it while it is throttled or the service fails.
func (c *Client) Send(ctx context.Context, to Service, what Request) (text []byte, status int, err error) {
	pause := firstPause
	for try := 1; ; try++ {
		text, status, err = c.once(ctx, to, what)
		if err != nil || try == tries || !throttled(status, text) {
			return text, status, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// throttled reports whether a response means that the same request may succeed later.
func throttled(status int, text []byte) bool {
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return true
	}
	if status == http.StatusOK {
		return false
	}
	for _, word := range []string{"Throttl", "LimitExceededException", "RequestLimitExceeded", "TooManyRequestsException"} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

// once sends a signed request without retries.
func (c *Client) once(ctx context.Context, to Service, what Request) (text []byte, status int, err error) {
	if c.config.BaseEndpoint != nil {
		to.Endpoint = *c.config.BaseEndpoint
	}
	r, err := http.NewRequestWithContext(ctx, what.Method, to.Endpoint+what.Path, bytes.NewReader(what.body))
	if err != nil {
		return nil, 0, err
	}
	r.URL.RawQuery = what.Query.Encode()
	maps.Copy(r.Header, what.header)
	if c.config.Credentials == nil {
		return nil, 0, errNoCredentials
	}
	who, err := c.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	if err := sigv4.Sign(ctx, who, r, what.body, to.Name, to.Region, time.Now()); err != nil {
		return nil, 0, err
	}
	client := c.config.HTTPClient
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	out, err := client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer out.Body.Close()
	text, err = io.ReadAll(io.LimitReader(out.Body, mostAnswer))
	return text, out.StatusCode, err
}
