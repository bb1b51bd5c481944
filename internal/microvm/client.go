package microvm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"zerodag/internal/border"
	"zerodag/internal/sigv4"
)

// client calls the service. AWS's client for it is not used: docs/adr/0055-lambda-microvms.md.
type client struct {
	http        aws.HTTPClient
	credentials aws.CredentialsProvider
	retryer     aws.Retryer
	region      string
	endpoint    string
}

// service is the name for which requests are signed.
const service = "lambda"

// root is the path of the operations, with the API version.
const root = "/2025-09-09/microvms"

// mostAnswer limits the size of a response in bytes: a page of 50 machines is about 15 KB.
const mostAnswer = 1 << 20

// tries is how many times a call is tried; a throttled launch is retried later anyway.
const tries = 3

func newClient(c aws.Config) *client {
	c = border.Answered(c)
	endpoint := sigv4.Endpoint(service, c.Region)
	if c.BaseEndpoint != nil {
		endpoint = strings.TrimSuffix(*c.BaseEndpoint, "/")
	}
	return &client{http: c.HTTPClient, credentials: c.Credentials, region: c.Region, endpoint: endpoint,
		retryer: border.Retryer(tries, "InternalServerException")}
}

// errNoService means that a response does not come from the service, which the region may lack.
var errNoService = errors.New("the response is not from Lambda MicroVMs")

// call makes a request, and repeats it if that may help: all operations used here may be repeated.
func (c *client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	for try := 1; ; try++ {
		err := c.once(ctx, method, path, query, body, out)
		if err == nil || ctx.Err() != nil || try >= c.retryer.MaxAttempts() || !c.retryer.IsErrorRetryable(err) {
			return err
		}
		select {
		case <-time.After(border.Wait(try)):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *client) once(ctx context.Context, method, path string, query url.Values, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create request: %w", err)
	}
	r.URL.RawQuery = query.Encode()
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("get credentials: %w", err)
	}
	if err := sigv4.Sign(ctx, credentials, r, body, service, c.region, time.Now()); err != nil {
		return fmt.Errorf("sign request: %w", err)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return refused(answer, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read response: %w: %w", io.ErrUnexpectedEOF, err) // the connection was cut
	}
	return nil
}

// refused returns the error in a response. Its code is in a header or in the body.
func refused(answer *http.Response, text []byte) error {
	var body struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"`
		Other   string `json:"Message"`
	}
	_ = json.Unmarshal(text, &body) // a proxy's response is not necessarily JSON
	code := answer.Header.Get("X-Amzn-Errortype")
	for _, other := range []string{body.Type, body.Code} {
		if code == "" {
			code = other
		}
	}
	code, _, _ = strings.Cut(code, ":")
	code = code[strings.LastIndexByte(code, '#')+1:]
	message := body.Message
	if message == "" {
		message = body.Other
	}
	fault := smithy.FaultClient
	if answer.StatusCode >= http.StatusInternalServerError {
		fault = smithy.FaultServer
	}
	if code == "" && fault == smithy.FaultClient {
		return fmt.Errorf("%w: %s", errNoService, answer.Status)
	}
	if code == "" {
		code = "HTTP " + answer.Status
	}
	return &smithy.GenericAPIError{Code: code, Message: message, Fault: fault}
}
