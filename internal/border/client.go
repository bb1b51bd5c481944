package border

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// answerTime is how long AWS may take to begin with an answer: more than the longest wait that a call asks for,
// that of a receive.
const answerTime = 30 * time.Second

// Answered is a configuration whose calls fail, and may be tried again, when no answer begins in time. The SDK waits for one as
// long as the kernel believes in the connection: of one that broke without a word a quarter of an hour, in which the lease of
// the task that waits is extended and nobody else can run it. It is not for calls that take longer by their nature.
func Answered(c aws.Config) aws.Config { return answered(c, answerTime) }

func answered(c aws.Config, most time.Duration) aws.Config {
	client, usual := c.HTTPClient.(*awshttp.BuildableClient)
	switch {
	case c.HTTPClient == nil:
		client = awshttp.NewBuildableClient()
	case !usual:
		return c // whoever made it has bounds of his own
	}
	c = c.Copy()
	c.HTTPClient = impatient{client.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = most })}
	return c
}

// impatient is a client that does not wait for ever.
type impatient struct{ aws.HTTPClient }

// Do implements aws.HTTPClient. That no answer came in time is an error of the connection: net/http says that it is the
// deadline of a context, and what had one is not tried again.
func (i impatient) Do(r *http.Request) (*http.Response, error) {
	out, err := i.HTTPClient.Do(r)
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = &net.OpError{Op: "wait for an answer", Net: "tcp", Err: err}
	}
	return out, err
}
