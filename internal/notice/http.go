package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
	"unicode"

	"zerodag/engine/param"
	"zerodag/internal/httpclient"
	"zerodag/operators"
)

// HTTP sends notices as JSON to a URL; any status outside 2xx counts as a failure. Redirects are not followed.
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
		r.Secrets = append(r.Secrets, headerSecrets(value)...)
	}
	if h.Secret != "" {
		r.Secrets = append(r.Secrets, h.Secret)
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

// shortestWord is the minimum length at which a word in a header's value counts as a secret.
const shortestWord = 8

// headerSecrets returns the value of a header and its words: in "Bearer TOKEN", a receiver may quote the token alone.
func headerSecrets(value string) []string {
	secrets := []string{value}
	for word := range strings.FieldsSeq(value) {
		if len(word) >= shortestWord {
			secrets = append(secrets, word)
		}
	}
	return secrets
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
	Secrets []string // strings that no error may contain, besides the URL's user, password, path and query
}

// Answer is a receiver's response with a status of 2xx.
type Answer struct {
	Status string // "200 OK", without text from the receiver
	Body   string // its beginning; Request.Shown makes text from it safe to show
}

const (
	requestTime = 30 * time.Second // limit for one delivery
	mostAnswer  = 16 << 10         // the number of bytes of a response that are read
	shownAnswer = 500              // the number of these bytes that an error shows
)

// transport returns the transport that sends requests. Unlike a client, it does not follow redirects, which would drop
// the body or send the secrets in headers and body to another host. A client also quotes a malformed new address.
func transport() http.RoundTripper {
	var clients httpclient.Clients
	return clients.Client(operators.HTTPOptions{}).Transport
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
	if password, _ := r.URL.User.Password(); r.URL.User != nil && r.Header.Get("Authorization") == "" {
		r.SetBasicAuth(r.URL.User.Username(), password)
	}
	response, err := transport().RoundTrip(r)
	if err != nil {
		return Answer{}, q.failed(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	a := Answer{status(response.StatusCode), string(text)}
	switch {
	case response.StatusCode/100 == 2:
		return a, nil
	case response.StatusCode/100 == 3 && response.Header.Get("Location") != "":
		return a, &Refusal{Err: q.redirected(response), Permanent: true}
	}
	return a, &Refusal{Err: fmt.Errorf("%s responded with %s: %s", q.server(), a.Status, q.Shown(a.Body)),
		Permanent: permanent(response.StatusCode), After: retryAfter(response.Header, time.Now())}
}

// status returns a status with its usual text: a receiver may send any text.
func status(code int) string { return strings.TrimSpace(fmt.Sprint(code, " ", http.StatusText(code))) }

// redirected returns the error of a redirect. It names only the host of the new address, whose other parts may be a key.
func (q Request) redirected(response *http.Response) error {
	to := ""
	if u, err := response.Location(); err == nil && u.Host != "" {
		to = " to " + q.Shown(u.Scheme+"://"+u.Host)
	}
	return fmt.Errorf("%s redirects%s (status %s), and notifications follow no redirects: configure the address that it redirects to", q.server(), to, status(response.StatusCode))
}

// permanent reports whether a status means that the same request will always be refused.
func permanent(status int) bool {
	return status/100 == 4 && !slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}, status)
}

// retryAfter reads the header Retry-After: seconds, which may have decimals, or a time by the receiver's clock. It
// returns 0 if the header is absent or the time has passed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(text); err == nil {
		if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
			now = theirs
		}
		return min(max(at.Sub(now), 0), longestWait)
	}
	seconds, err := strconv.ParseFloat(text, 64)
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

// failed returns a request's error without its address.
func (q Request) failed(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	text := q.masked(printable(err.Error())) // the error may quote a malformed response
	if text == err.Error() {
		return fmt.Errorf("call %s: %w", q.server(), err)
	}
	return fmt.Errorf("call %s: %s", q.server(), text)
}

// shortestSecret is the minimum length of a masked string: shorter strings occur in many errors as ordinary words.
const shortestSecret = 6

// Shown returns text from the response in a form that users may see: one line of at most shownAnswer bytes without
// control characters and secrets.
func (q Request) Shown(text string) string {
	isCut := len(text) >= mostAnswer
	text = q.masked(printable(text)) // before it is shortened, because half a secret is not recognized
	if secrets := q.secrets(); isCut && len(secrets) > 0 {
		text = text[:max(0, len(text)-len(secrets[0]))] // it may end in the middle of a secret
	}
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), shownAnswer)], "")
}

// printable returns text as one line of valid UTF-8 without control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// masked returns the text without the request's secrets.
func (q Request) masked(text string) string {
	for _, s := range q.secrets() {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// secrets returns the strings that are masked, the longest first, because one may contain another.
func (q Request) secrets() []string {
	secrets := slices.Clone(q.Secrets)
	if u, err := url.Parse(q.URL); err == nil {
		secrets = append(secrets, q.URL, u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		for part := range strings.SplitSeq(u.EscapedPath(), "/") {
			if len(part) >= 2*shortestSecret {
				secrets = append(secrets, part)
			}
		}
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
		secrets = append(secrets, userSecrets(u.User)...)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < shortestSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// userSecrets returns the forms in which a receiver may quote the user and the password of a URL: unchanged, as written
// in the URL, and as written in the request's header.
func userSecrets(u *url.Userinfo) []string {
	if u == nil {
		return nil
	}
	password, _ := u.Password()
	user, escaped, _ := strings.Cut(u.String(), ":")
	return []string{u.String(), user, escaped, u.Username(), password, base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))}
}
