package localstack

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Headers that the judge of requests and its plugin read.
const (
	judgeOnly    = "X-Judge-Only"
	judgeExpects = "X-Judge-Expects"
)

// Judged passes each request to the judge before a fake answers it, because a fake accepts requests that AWS would
// reject. Without LocalStack, only the fake gets it.
func Judged(t testing.TB, fake http.Handler) http.Handler {
	t.Helper()
	if err := found(); err != nil {
		if required() {
			t.Fatal(err)
		}
		return fake
	}
	if ministack() {
		return fake
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := handOver(r, body); err != nil {
			t.Errorf("send a request to the judge: %v", err)
		}
		fake.ServeHTTP(w, r)
	})
}

func handOver(r *http.Request, body []byte) error {
	out, err := http.NewRequest(r.Method, Endpoint()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	out.Header, out.Host = r.Header.Clone(), r.Host
	out.Header.Set(judgeOnly, "1")
	in, err := single(time.Minute).Do(out)
	if err == nil {
		in.Body.Close()
	}
	return err
}

// Expected announces the one violation of each request that the clients of a configuration send, in the words of a
// verdict (".Name: required"). A request without that violation fails the run, so announcements cannot go stale.
func Expected(c *aws.Config, violation string) {
	c.APIOptions = append(c.APIOptions, smithyhttp.AddHeaderValue(judgeExpects, violation))
}
