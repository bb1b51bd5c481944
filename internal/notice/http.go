package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	// Secret signs the requests; "" means that they are not signed. Two headers, TimeHeader and SignatureHeader, let
	// the receiver check that a request is recent and comes from this server.
	Secret string
	Now    func() time.Time // nil: time.Now
}

// The headers of a signed request. The signature is "sha256=" and the HMAC of the time, a dot and the body, in
// hexadecimal.
const (
	TimeHeader      = "X-Zerodag-Timestamp" // in seconds since 1970
	SignatureHeader = "X-Zerodag-Signature"
)

// Send implements Sender.
func (h HTTP) Send(ctx context.Context, fields *param.Map) (string, error) {
	r := Request{URL: h.URL, Method: h.Method, Headers: map[string]string{}, Body: param.AppendJSON(nil, fields)}
	for name, value := range h.Headers {
		r.Headers[name] = value
		r.Secrets = append(r.Secrets, value)
	}
	if h.Secret != "" {
		now := time.Now
		if h.Now != nil {
			now = h.Now
		}
		at := strconv.FormatInt(now().Unix(), 10)
		r.Headers[TimeHeader], r.Headers[SignatureHeader] = at, Signature(h.Secret, at, r.Body)
	}
	answer, err := r.Do(ctx)
	if err != nil {
		return "", err
	}
	return answer.Status, nil
}

// Signature returns the value of the header SignatureHeader.
func Signature(secret, at string, body []byte) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(at + "."))
	sum.Write(body)
	return "sha256=" + hex.EncodeToString(sum.Sum(nil))
}

// Request is a request to the receiver of notices.
type Request struct {
	URL     string
	Method  string // "" is POST
	Headers map[string]string
	Body    []byte   // JSON
	Secrets []string // strings that no error may contain, besides the URL's path and query
}

// Answer is a receiver's response with a status of 2xx.
type Answer struct {
	Status string // "200 OK"
	Body   string // its beginning
}

const (
	mostRedirects = 8
	requestTime   = 30 * time.Second // limit for one delivery
	mostAnswer    = 16 << 10         // the number of bytes of a response that are read
	shownAnswer   = 500              // the number of these bytes that an error shows
)

// client follows redirects without sending a referrer: the URL may hold a token.
func client() *http.Client {
	var clients httpclient.Clients
	return clients.Client(operators.HTTPOptions{MaxRedirects: mostRedirects, Timeout: requestTime})
}

// Do sends the request. Any status outside 2xx is a Refusal. No error contains the URL, which may hold a token: anyone
// who may start an attempt can read it.
func (q Request) Do(ctx context.Context) (Answer, error) {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	method := q.Method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return Answer{}, q.failed(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	response, err := client().Do(r)
	if err != nil {
		return Answer{}, q.failed(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	a := Answer{response.Status, strings.ToValidUTF8(strings.TrimSpace(string(text)), "?")}
	if response.StatusCode/100 != 2 {
		shown := strings.ToValidUTF8(a.Body[:min(len(a.Body), shownAnswer)], "")
		return a, &Refusal{Err: errors.New(q.masked(fmt.Sprintf("%s responded with %s: %s", q.server(), a.Status, shown))),
			Permanent: permanent(response.StatusCode), After: retryAfter(response.Header)}
	}
	return a, nil
}

// permanent reports whether a status means that the same request will always be refused.
func permanent(status int) bool {
	return status/100 == 4 && !slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}, status)
}

// retryAfter reads the header Retry-After in seconds, which may have decimals; 0 if it is absent.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}

// server returns the address to which notices are sent, without the parts that may contain a key.
func (q Request) server() string {
	u, err := url.Parse(q.URL)
	if err != nil {
		return "the receiver of notifications"
	}
	return u.Scheme + "://" + u.Host
}

// failed returns the error of a request without its address.
func (q Request) failed(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	text := q.masked(err.Error())
	if text == err.Error() {
		return fmt.Errorf("call %s: %w", q.server(), err)
	}
	return fmt.Errorf("call %s: %s", q.server(), text)
}

// shortestSecret is the minimum length of a masked string: shorter strings occur in many errors as ordinary words.
const shortestSecret = 6

// masked returns the text without the request's secrets.
func (q Request) masked(text string) string {
	secrets := slices.Clone(q.Secrets)
	if u, err := url.Parse(q.URL); err == nil {
		secrets = append(secrets, q.URL, u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery, u.User.String())
		for part := range strings.SplitSeq(u.EscapedPath(), "/") {
			if len(part) >= 2*shortestSecret {
				secrets = append(secrets, part)
			}
		}
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		if len(s) >= shortestSecret {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}
