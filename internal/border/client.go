package border

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// answerTime is how long AWS may take to begin a response, or pause within it. It exceeds the longest wait that a call
// requests, which is that of a receive.
const answerTime = 30 * time.Second

// Answered returns a configuration whose calls fail with a retryable error if a response does not begin in time, or
// stalls. The SDK waits as long as the kernel considers the connection alive: after a silent break, that is 15 minutes,
// during which the lease of the waiting task is extended and no other process can run the task. Answered is not for
// calls that naturally take longer.
func Answered(c aws.Config) aws.Config { return answered(c, answerTime) }

func answered(c aws.Config, most time.Duration) aws.Config {
	client, usual := c.HTTPClient.(*awshttp.BuildableClient)
	switch {
	case c.HTTPClient == nil:
		client = awshttp.NewBuildableClient()
	case !usual:
		return c // the caller has set limits
	}
	c = c.Copy()
	c.HTTPClient = impatient{client.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = most }), most}
	return c
}

// impatient is an HTTP client that does not wait forever.
type impatient struct {
	aws.HTTPClient
	most time.Duration
}

// Do implements aws.HTTPClient. It turns a late response into a connection error: net/http reports it as an expired
// context deadline, and such calls are not retried.
func (i impatient) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	out, err := i.HTTPClient.Do(r.WithContext(ctx))
	if err == nil {
		out.Body = &flowing{ReadCloser: out.Body, most: i.most, end: cancel}
		return out, nil
	}
	cancel()
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = &net.OpError{Op: "wait for a response", Net: "tcp", Err: err}
	}
	return out, err
}

// flowing is a response body that fails if it stalls while it is read.
type flowing struct {
	io.ReadCloser
	most  time.Duration
	end   context.CancelFunc
	still atomic.Bool // it stalled for too long and was closed
}

// Read implements io.Reader. A stalled response counts as cut off.
func (f *flowing) Read(b []byte) (int, error) {
	defer time.AfterFunc(f.most, func() {
		f.still.Store(true)
		f.end()
	}).Stop()
	n, err := f.ReadCloser.Read(b)
	if f.still.Load() && err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the response made no progress for %v: %w", f.most, io.ErrUnexpectedEOF)
	}
	return n, err
}

// Close implements io.Closer.
func (f *flowing) Close() error {
	defer f.end()
	return f.ReadCloser.Close()
}
