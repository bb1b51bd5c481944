package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Services whose clients would be modules more, for a few requests each, are asked here by hand.

// refusal is an answer that is an error of the service.
type refusal struct {
	code, message string
	status        int
}

func (r *refusal) Error() string {
	return fmt.Sprintf("status %d, %s: %s", r.status, r.code, r.message)
}

// form sends parameters to a service that answers XML.
func (a *account) form(ctx context.Context, service, version, action string, form url.Values, answer any) error {
	if form == nil {
		form = url.Values{}
	}
	form.Set("Action", action)
	form.Set("Version", version)
	text, status, err := a.send(ctx, http.MethodPost, service, "/", []byte(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}})
	if err != nil {
		return fmt.Errorf("%s %s: %w", service, action, err)
	}
	if status/100 == 2 {
		if err := xml.Unmarshal(text, answer); err != nil {
			return fmt.Errorf("read what %s %s answered: %w", service, action, err)
		}
		return nil
	}
	var e struct { // EC2 has one level more
		Error  struct{ Code, Message string } `xml:"Error"`
		Errors struct{ Code, Message string } `xml:"Errors>Error"`
	}
	if err := xml.Unmarshal(text, &e); err != nil {
		e.Error.Message = fmt.Sprintf("%.200s", text)
	}
	return fmt.Errorf("%s %s: %w", service, action, &refusal{e.Error.Code + e.Errors.Code, e.Error.Message + e.Errors.Message, status})
}

// target sends JSON to a service that is told the operation in a header.
func (a *account) target(ctx context.Context, service, operation string, in, answer any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	text, status, err := a.send(ctx, http.MethodPost, service, "/", body, http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {operation}})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return readJSON(operation, text, status, answer)
}

// path asks a service that has paths.
func (a *account) path(ctx context.Context, method, service, path string, answer any) error {
	text, status, err := a.send(ctx, method, service, path, nil, http.Header{})
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return readJSON(method+" "+path, text, status, answer)
}

func readJSON(what string, text []byte, status int, answer any) error {
	if status/100 == 2 {
		if answer == nil || len(text) == 0 {
			return nil
		}
		if err := json.Unmarshal(text, answer); err != nil {
			return fmt.Errorf("read what %s answered: %w", what, err)
		}
		return nil
	}
	var e struct {
		Code    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		e.Message = fmt.Sprintf("%.200s", text)
	}
	return fmt.Errorf("%s: %w", what, &refusal{e.Code, e.Message, status})
}

// mostAnswer is what is read of an answer, in bytes.
const mostAnswer = 32 << 20

// tries is how often a request is sent that was throttled, or whose answer blames the service.
const tries = 6

// send sends a signed request, again and again while the service asks for that.
func (a *account) send(ctx context.Context, method, service, path string, body []byte, header http.Header) (text []byte, status int, err error) {
	for try := 1; ; try++ {
		text, status, err = a.once(ctx, method, service, path, body, header)
		again := err != nil || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusBadRequest && bytes.Contains(text, []byte("hrottl"))
		if !again || try == tries {
			return text, status, err
		}
		select {
		case <-ctx.Done():
			return text, status, ctx.Err()
		case <-time.After(a.pause << try / 16):
		}
	}
}

func (a *account) once(ctx context.Context, method, service, path string, body []byte, header http.Header) (text []byte, status int, err error) {
	endpoint, region := "https://"+service+"."+a.config.Region+".amazonaws.com", a.config.Region
	if service == "iam" {
		endpoint, region = "https://iam.amazonaws.com", "us-east-1"
	}
	if a.config.BaseEndpoint != nil {
		endpoint = strings.TrimSuffix(*a.config.BaseEndpoint, "/")
	}
	r, err := http.NewRequestWithContext(ctx, method, endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header = header.Clone()
	who, err := a.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, r, hex.EncodeToString(sum[:]), service, region, time.Now()); err != nil {
		return nil, 0, err
	}
	var client aws.HTTPClient = &http.Client{Timeout: time.Minute}
	if a.config.HTTPClient != nil {
		client = a.config.HTTPClient
	}
	out, err := client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer out.Body.Close()
	text, err = io.ReadAll(io.LimitReader(out.Body, mostAnswer))
	return text, out.StatusCode, err
}
