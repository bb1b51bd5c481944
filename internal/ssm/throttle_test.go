package ssm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/host"
)

// answers stands in for SSM: it refuses requests while the account's token bucket is empty.
type answers struct {
	refused, calls int
	more           int // further pages
}

func (a *answers) Do(*http.Request) (*http.Response, error) {
	a.calls++
	status, text := http.StatusOK, `{"Parameters":[{"Name":"/p/1/2/a","Value":"1 x"}]}`
	switch {
	case a.calls <= a.refused:
		status, text = http.StatusBadRequest, `{"__type":"ThrottlingException","message":"Rate exceeded"}`
	case a.more > 0:
		a.more--
		text = `{"Parameters":[{"Name":"/p/1/2/a","Value":"1 x"}],"NextToken":"n"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

func (a *answers) secrets() *Secrets {
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	})
	return New(aws.Config{Region: "us-east-1", HTTPClient: a, Credentials: credentials}, Options{Prefix: "/p"})
}

// TestThrottledForAWhile proves that a read waits for seconds while the account's reads are throttled, that pages do
// not follow one another immediately, and that a read that is throttled for longer reports that the store is
// unavailable.
func TestThrottledForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		busy := &answers{refused: 11}
		all, err := busy.secrets().ProjectSecrets(t.Context(), 1, 2)
		if took := time.Since(began); err != nil || all["a"] != "x" || took < 3*time.Second || took > 20*time.Second {
			t.Errorf("after %v: %v, %v", took, all, err)
		}
		began = time.Now()
		paged := &answers{more: 50}
		if _, err := paged.secrets().ProjectSecrets(t.Context(), 1, 2); err != nil || time.Since(began) < time.Second {
			t.Errorf("51 pages took %v, %v", time.Since(began), err)
		}
		if _, err := (&answers{refused: 1000}).secrets().ProjectSecrets(t.Context(), 1, 2); !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("throttled for ever: %v", err)
		}
	})
}
