package sigv4_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/sigv4"
)

// TestEndpoint proves that service addresses have the form that each partition uses.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"eu-central-1": "https://xray.eu-central-1.amazonaws.com", "us-gov-west-1": "https://xray.us-gov-west-1.amazonaws.com", "cn-north-1": "https://xray.cn-north-1.amazonaws.com.cn"} {
		if got := sigv4.Endpoint("xray", region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

// TestSign compares a signature with the one that AWS publishes for its example request (get-vanilla of its test
// suite), and proves that it covers the body.
func TestSign(t *testing.T) {
	t.Parallel()
	who := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	signed := func(body string) string {
		r, err := http.NewRequest(http.MethodGet, "https://example.amazonaws.com/", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			r.Body, r.ContentLength = nil, 0
		}
		if err := sigv4.Sign(t.Context(), who, r, []byte(body), "service", "us-east-1", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		return r.Header.Get("Authorization")
	}
	const published = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	if got := signed(""); !strings.HasSuffix(got, "Signature="+published) {
		t.Errorf("the signature is %s", got)
	}
	if strings.HasSuffix(signed("x"), published) {
		t.Error("the signature does not cover the body")
	}
}
