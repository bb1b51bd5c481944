package iam

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

func fixed(c aws.Config) *Signer {
	return &Signer{now: func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }, load: func() (aws.Config, error) { return c, nil }}
}

// TestSign proves that a request, including its body, is signed for API Gateway in the region of its host, and that the
// body can still be sent.
func TestSign(t *testing.T) {
	t.Parallel()
	s := fixed(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "session")})
	sign := func(body string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://abc.execute-api.eu-central-1.amazonaws.com/iam/api/logs/1/files/%2Bmain?a=1", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sign(r); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r.Body); err != nil || string(text) != body {
			t.Errorf("body: %q %v", text, err)
		}
		if r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Error("the session is not sent")
		}
		return r.Header.Get("Authorization")
	}
	one := sign("one")
	if want := "AWS4-HMAC-SHA256 Credential=AKID/20300102/eu-central-1/execute-api/aws4_request, "; !strings.HasPrefix(one, want) {
		t.Errorf("signed %q, want %q", one, want)
	}
	if one == sign("two") || one != sign("one") {
		t.Error("the signature does not depend on the body alone")
	}
}

// TestMissing proves that a missing region and missing credentials are reported with a remedy.
func TestMissing(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*Signer{
		"unknown AWS region of flows.example.com: set AWS_REGION": fixed(aws.Config{}),
		"there are no AWS credentials to sign with":               fixed(aws.Config{Region: "us-east-1"}),
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://flows.example.com/iam/api/projects", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sign(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
