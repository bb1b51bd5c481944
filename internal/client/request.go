package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// How many times a GET is tried, and how long the client waits after the first failure; the wait doubles until it
// reaches the longest. If no server listens, the client gives up sooner, because a user may be waiting. Rejected
// requests are repeated at growing intervals until patience runs out: a thousand clients that retried every second
// would keep the server from doing its work.
const (
	tries       = 10
	triesToDial = 4
	firstWait   = 20 * time.Millisecond
	longestWait = 2 * time.Second
	longestTurn = 10 * time.Second
	patience    = time.Minute
)

// path joins the escaped parts of a path. It escapes even "+" and "@", which some servers interpret differently.
func path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + strings.NewReplacer("+", "%2B", "@", "%40").Replace(url.PathEscape(p)))
	}
	return b.String()
}

// query turns pairs into query parameters; empty values are omitted.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	return q
}

// get reads JSON and retries if the server or the network fails.
func (c *transport) get(ctx context.Context, path string, q url.Values, into any) error {
	_, err := c.getWithHeader(ctx, path, q, into)
	return err
}

func (c *transport) getWithHeader(ctx context.Context, path string, q url.Values, into any) (http.Header, error) {
	r, err := c.repeat(ctx, func() (*http.Response, error) {
		return c.do(ctx, request{method: http.MethodGet, address: c.address(path, q), accept: jsonType})
	})
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	return r.Header, c.decode(r, into)
}

// send sends JSON. A request that changes something is repeated only if it was rejected before any work began.
func (c *transport) send(ctx context.Context, method, path string, q url.Values, body, into any) error {
	var text []byte
	to := request{method: method, address: c.address(path, q), accept: jsonType}
	if body != nil {
		var err error
		if text, err = encode(body); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		to.kind, to.body, to.size = jsonType, func() io.Reader { return bytes.NewReader(text) }, int64(len(text))
	}
	r, err := c.do(ctx, to)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return c.decode(r, into)
}

// encode writes JSON as it is sent. No page embeds it, and characters escaped for pages would take six bytes each.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (c *transport) address(path string, q url.Values) string {
	address := c.root + path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

const (
	jsonType = "application/json"
	gzipType = "application/gzip"
)

// request is one request to the server.
type request struct {
	method, address string
	accept          string           // the response's type; "" means any
	kind            string           // the type of the body
	body            func() io.Reader // opens the body for each try; nil for none
	size            int64
}

// do sends a request with its headers to the server, and repeats it while it is rejected, after random waits that
// spread out many clients. The returned response has a success status.
func (c *transport) do(ctx context.Context, to request) (*http.Response, error) {
	pause := firstWait
	for waited := time.Duration(0); ; waited += pause {
		began := time.Now()
		r, err := c.once(ctx, to)
		var s *StatusError
		if !errors.As(err, &s) || !s.isGateways(time.Since(began)) {
			return r, err
		}
		if s.turnedAway = true; waited >= patience {
			return nil, err
		}
		pause = min(2*pause, longestTurn)
		if ended := c.Wait(ctx, pause/2+rand.N(pause/2)); ended != nil { // #nosec G404 -- it only spreads retries, an attacker gains nothing by guessing it
			return nil, ended
		}
	}
}

// once sends a request without retries.
func (c *transport) once(ctx context.Context, to request) (*http.Response, error) {
	var body io.Reader
	if to.body != nil {
		body = to.body()
	}
	r, err := http.NewRequestWithContext(ctx, to.method, to.address, body)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	if r.ContentLength = to.size; to.size == 0 {
		r.Body = http.NoBody // otherwise its length would be unknown
	}
	maps.Copy(r.Header, c.Header)
	r.Header.Set("User-Agent", strings.TrimSpace("DigdagClient/"+APIVersion+" "+c.Agent))
	if to.accept != "" {
		r.Header.Set("Accept", to.accept)
	}
	if to.kind != "" {
		r.Header.Set("Content-Type", to.kind)
	}
	if c.Sign != nil {
		if err := c.Sign(r); err != nil {
			return nil, &mistake{fmt.Errorf("sign request: %w", err)}
		}
	}
	answer, err := c.answer(r)
	var refused *StatusError
	if errors.As(err, &refused) {
		if hint := c.accessHint(refused.Status); hint != "" {
			refused.hint = hint
		}
	}
	return answer, err
}

// answer sends a request and turns every response except a success into an error.
func (c *transport) answer(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r) // #nosec G704 -- the user names the server
	if err != nil {
		if ended := r.Context().Err(); ended != nil {
			return nil, ended
		}
		return nil, c.connectError(err)
	}
	if answer.StatusCode/100 != 2 {
		defer answer.Body.Close()
		return answer, statusError(answer)
	}
	return answer, nil
}

// repeat calls try until it succeeds, the error is final, or the number of tries is exhausted.
func (c *transport) repeat(ctx context.Context, try func() (*http.Response, error)) (*http.Response, error) {
	pause := firstWait
	for n := 1; ; n++ {
		r, err := try()
		var unreachable *Unreachable
		switch {
		case err == nil, ctx.Err() != nil, isFinal(err), n == tries:
			return r, err
		case errors.As(err, &unreachable) && n == triesToDial:
			return nil, err
		}
		if ended := c.Wait(ctx, pause); ended != nil {
			return nil, ended
		}
		pause = min(2*pause, longestWait)
	}
}

// isFinal reports whether the same request would get the same response again, or was already retried for a long time.
func isFinal(err error) bool {
	var s *StatusError
	var m *mistake
	if errors.As(err, &m) {
		return true
	}
	if !errors.As(err, &s) {
		return false
	}
	if s.turnedAway {
		return true
	}
	switch s.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return s.Status < 500
}

func (c *transport) decode(r *http.Response, into any) error {
	if into == nil {
		_, err := io.Copy(io.Discard, r.Body)
		return err
	}
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return fmt.Errorf("read the response of %s: %w (is it a zerodag or Digdag server?)", c.base, err)
	}
	return nil
}
