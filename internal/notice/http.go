package notice

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/httpclient"
	"zerodag/operators"
)

// HTTP sends notices as JSON to a URL; any status outside of 2xx is a failure.
type HTTP struct {
	URL     string
	Method  string // "" is POST
	Headers map[string]string
}

// client follows redirects without telling where it comes from: the URL may hold a token.
func client() *http.Client {
	var clients httpclient.Clients
	return clients.Client(operators.HTTPOptions{MaxRedirects: mostRedirects, Timeout: requestTime})
}

const mostRedirects = 8

// requestTime bounds one try.
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
		return fmt.Errorf("send notification: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		r.Header.Set(name, value)
	}
	answer, err := client().Do(r)
	if err != nil {
		return fmt.Errorf("send notification: %w", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("send notification: %s answered %s: %s", h.URL, answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
