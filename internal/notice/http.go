package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/httpclient"
	"zerodag/operators"
)

// HTTP sends notices as JSON to a URL; any status outside 2xx counts as a failure.
type HTTP struct {
	URL     string
	Method  string // "" is POST
	Headers map[string]string
}

// client follows redirects without sending a referrer: the URL may hold a token.
func client() *http.Client {
	var clients httpclient.Clients
	return clients.Client(operators.HTTPOptions{MaxRedirects: mostRedirects, Timeout: requestTime})
}

const mostRedirects = 8

// requestTime limits one delivery attempt.
const requestTime = 30 * time.Second

// Send implements Sender.
func (h HTTP) Send(ctx context.Context, fields *param.Map) error {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	method := h.Method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, h.URL, bytes.NewReader(param.AppendJSON(nil, fields)))
	if err != nil {
		return h.failed(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		r.Header.Set(name, value)
	}
	answer, err := client().Do(r)
	if err != nil {
		return h.failed(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s responded with %s: %s", h.server(), answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// server returns the address that notices go to, without parts that may be a key, because anyone who may start an
// attempt can read the error.
func (h HTTP) server() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "the server of notification.http.url"
	}
	return u.Scheme + "://" + u.Host
}

// failed returns the error of a request without its address.
func (h HTTP) failed(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("call %s: %w", h.server(), err)
}
