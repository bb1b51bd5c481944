package account

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

	"zerodag/internal/sigv4"
)

// The few requests to CloudFormation, CloudWatch, Cost Explorer, EC2, IAM, Lambda MicroVMs and Service Quotas are signed and read here: every client of the SDK
// that is linked in makes its tables before main, which each command of zerodag would pay for
// (docs/adr/0020).

// service is one of them, as a request to it is addressed and signed.
type service struct{ name, endpoint, region string }

// regional is a service that is in each region.
func (a *Account) regional(name string) service {
	return service{name, sigv4.Endpoint(name, a.config.Region), a.config.Region}
}

// partition is what ARNs of the region begin with, after "arn:".
func (a *Account) partition() string {
	switch {
	case strings.HasPrefix(a.config.Region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(a.config.Region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// global is IAM, which is one for all regions of a partition.
func (a *Account) global() service {
	switch {
	case strings.HasPrefix(a.config.Region, "cn-"):
		return service{"iam", "https://iam.cn-north-1.amazonaws.com.cn", "cn-north-1"}
	case strings.HasPrefix(a.config.Region, "us-gov-"):
		return service{"iam", "https://iam.us-gov.amazonaws.com", "us-gov-west-1"}
	}
	return service{"iam", "https://iam.amazonaws.com", "us-east-1"}
}

// refusal is an answer that is an error of the service.
type refusal struct {
	code, message string
	status        int
}

func (r *refusal) Error() string {
	return fmt.Sprintf("status %d, %s: %s", r.status, r.code, r.message)
}

// query sends a form and reads the answer, which is XML.
func (a *Account) query(ctx context.Context, to service, form url.Values, answer any) error {
	text, status, err := a.send(ctx, to, posted([]byte(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}))
	if err != nil {
		return err
	}
	if status == http.StatusOK {
		return xml.Unmarshal(text, answer)
	}
	var e struct { // EC2 has one level more
		Error  struct{ Code, Message string } `xml:"Error"`
		Errors struct{ Code, Message string } `xml:"Errors>Error"`
	}
	if err := xml.Unmarshal(text, &e); err != nil {
		return &refusal{message: fmt.Sprintf("%.200s", text), status: status}
	}
	return &refusal{e.Error.Code + e.Errors.Code, e.Error.Message + e.Errors.Message, status}
}

// call sends a value as JSON and reads the answer.
func (a *Account) call(ctx context.Context, to service, operation string, in, answer any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	text, status, err := a.send(ctx, to, posted(body, http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {operation}}))
	if err != nil {
		return err
	}
	return readJSON(text, status, answer)
}

// get reads a value that a path names.
func (a *Account) get(ctx context.Context, to service, path string, query url.Values, answer any) error {
	text, status, err := a.send(ctx, to, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	return readJSON(text, status, answer)
}

// readJSON reads an answer, or the error that it is.
func readJSON(text []byte, status int, answer any) error {
	if status == http.StatusOK {
		return json.Unmarshal(text, answer)
	}
	var e struct {
		Code    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return &refusal{message: fmt.Sprintf("%.200s", text), status: status}
	}
	return &refusal{e.Code[strings.LastIndex(e.Code, "#")+1:], e.Message, status} // some services put a namespace before it
}

// mostAnswer is what is read of an answer: a thousand VPCs with their tags, in bytes.
const mostAnswer = 16 << 20

// tries is how often a request is sent that was throttled, or that the service could not answer.
const tries = 6

// firstPause is how long it waits before the second time; each later wait is twice as long.
const firstPause = 200 * time.Millisecond

// errNoCredentials is the error of requests that nobody can sign.
var errNoCredentials = errors.New("there are no AWS credentials: log in (aws sso login), name a profile in AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// request is what is sent to a service.
type request struct {
	method, path string // path is encoded
	query        url.Values
	body         []byte
	header       http.Header
}

// posted is a request of the protocols that name their operation in the body or in a header.
func posted(body []byte, header http.Header) request {
	return request{method: http.MethodPost, path: "/", body: body, header: header}
}

// send sends a signed request, again while it is throttled.
func (a *Account) send(ctx context.Context, to service, what request) (text []byte, status int, err error) {
	pause := firstPause
	for try := 1; ; try++ {
		text, status, err = a.once(ctx, to, what)
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

// throttled reports whether an answer is that the same request may work later.
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

// once sends a signed request one time.
func (a *Account) once(ctx context.Context, to service, what request) (text []byte, status int, err error) {
	if a.config.BaseEndpoint != nil {
		to.endpoint = *a.config.BaseEndpoint
	}
	r, err := http.NewRequestWithContext(ctx, what.method, to.endpoint+what.path, bytes.NewReader(what.body))
	if err != nil {
		return nil, 0, err
	}
	r.URL.RawQuery = what.query.Encode()
	maps.Copy(r.Header, what.header)
	if a.config.Credentials == nil {
		return nil, 0, errNoCredentials
	}
	who, err := a.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	if err := sigv4.Sign(ctx, who, r, what.body, to.name, to.region, time.Now()); err != nil {
		return nil, 0, err
	}
	client := a.config.HTTPClient
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
