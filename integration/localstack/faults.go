package localstack

import (
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Faulty makes the clients of a configuration meet faults, from a seed: some calls are
// throttled, some fail before and some after they have done what they should. The share is
// of each kind.
func Faulty(t testing.TB, c *aws.Config, seed uint64, share float64) {
	t.Helper()
	f := &faulty{client: &http.Client{}, share: share, random: rand.New(rand.NewPCG(seed, seed))}
	c.HTTPClient = f
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("faults came from seed %d", seed)
		}
	})
}

// FaultyEndpoint is an address of LocalStack behind which calls meet faults, for tests that
// make their clients themselves.
func FaultyEndpoint(t testing.TB, seed uint64, share float64) string {
	t.Helper()
	c := Config(t)
	Faulty(t, &c, seed, share)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward(c.HTTPClient, w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func forward(client aws.HTTPClient, w http.ResponseWriter, r *http.Request) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, Endpoint()+r.URL.RequestURI(), r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header, out.ContentLength = r.Header, r.ContentLength
	answer, err := client.Do(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	io.Copy(w, answer.Body) // who asked notices an answer that ends early
}

type faulty struct {
	client *http.Client
	share  float64

	mu     sync.Mutex
	random *rand.Rand
}

func (f *faulty) hit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.Float64() < f.share
}

// Do sends a request, or pretends to.
func (f *faulty) Do(r *http.Request) (*http.Response, error) {
	switch {
	case f.hit():
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"throttled on purpose"}`), nil
	case f.hit():
		return answer(r, http.StatusServiceUnavailable, ""), nil
	}
	out, err := f.client.Do(r)
	if err == nil && f.hit() {
		_, err = io.Copy(io.Discard, out.Body)
		out.Body.Close()
		out = answer(r, http.StatusInternalServerError, "")
	}
	return out, err
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{Request: r, StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}
