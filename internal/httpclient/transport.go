package httpclient

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// transport sends each request through a separate connection, with headers in the order and spelling given by names;
// other headers follow.
type transport struct {
	dialer dialer
	names  []string
}

// mostAnswerHead limits the size of a response's head.
const mostAnswerHead = 1 << 20

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := t.text(r)
	if err != nil {
		return nil, err
	}
	conn, by, err := t.dialer.connect(r)
	if err != nil {
		return nil, err
	}
	stop := endWith(r.Context(), conn)
	answer, err := exchange(conn, append(t.head(r, by, len(text)), text...), r)
	if err != nil {
		stop()
		conn.Close()
		return nil, cause(r.Context(), err)
	}
	answer.Body = &content{answer.Body, conn, stop, r}
	return answer, nil
}

// text reads a request's content, and returns an error if the request cannot be sent.
func (t *transport) text(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, sound(r)
	}
	defer r.Body.Close()
	if err := sound(r); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body of the request: %w", err)
	}
	return text, nil
}

// sound refuses a request that cannot be sent unchanged.
func sound(r *http.Request) error {
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return fmt.Errorf("unsupported protocol scheme %q", r.URL.Scheme)
	}
	if r.URL.Host == "" {
		return errors.New("no host in the address of the request")
	}
	if !httpguts.ValidHostHeader(host(r)) || !httpguts.ValidHeaderFieldName(r.Method) {
		return errors.New("the method or the host of the request contains invalid characters")
	}
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || !isValid(values) {
			return fmt.Errorf("invalid header %q", name)
		}
	}
	return nil
}

func isValid(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) })
}

// exchange sends a request and reads the head of the response, which may come before the whole request was sent.
func exchange(conn net.Conn, text []byte, r *http.Request) (*http.Response, error) {
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(text)
		sent <- err
	}()
	limited := &io.LimitedReader{R: conn, N: mostAnswerHead}
	reader := bufio.NewReader(limited)
	if _, err := reader.Peek(1); err != nil {
		return nil, whyNoAnswer(err, sent)
	}
	for {
		answer, err := http.ReadResponse(reader, r)
		switch {
		case err != nil && limited.N <= 0:
			return nil, longHead{}
		case err != nil:
			return nil, whyNoAnswer(err, sent)
		case answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols:
			limited.N = math.MaxInt64 // the reader of the content sets its own limit
			unzip(answer, asksForZipped(r))
			return answer, nil
		}
	}
}

// longHead is the error for a response whose head is too long, as it would be again after a retry.
type longHead struct{}

func (longHead) Error() string {
	return fmt.Sprintf("the headers of the response exceed %d bytes", mostAnswerHead)
}

// Lasting reports that repeating the request does not help.
func (longHead) Lasting() bool { return true }

// whyNoAnswer returns the error that occurred while sending the request if there is one, otherwise the error that
// occurred while reading the response.
func whyNoAnswer(err error, sent <-chan error) error {
	select {
	case failed := <-sent:
		if failed != nil {
			return failed
		}
	default:
	}
	return err
}

// head returns the part of a request before its content in HTTP/1.1 format.
func (t *transport) head(r *http.Request, by *url.URL, length int) []byte {
	target := r.URL.RequestURI()
	if by != nil {
		target = r.URL.Scheme + "://" + r.URL.Host + target
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", r.Method, target)
	for _, h := range t.headers(r) {
		b = fmt.Appendf(b, "%s: %s\r\n", h[0], h[1])
	}
	if by != nil && proxyAuthorization(by) != "" {
		b = fmt.Appendf(b, "Proxy-Authorization: %s\r\n", proxyAuthorization(by))
	}
	if length > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		b = fmt.Appendf(b, "Content-Length: %d\r\n", length)
	}
	if asksForZipped(r) {
		b = append(b, "Accept-Encoding: gzip\r\n"...)
	}
	return append(b, "\r\n"...)
}

// asksForZipped reports whether this package requests a compressed response, which is invisible to callers.
func asksForZipped(r *http.Request) bool {
	return r.Header.Get("Accept-Encoding") == "" && r.Header.Get("Range") == "" && r.Method != http.MethodHead
}

// headers returns a request's headers: Host and User-Agent, then the headers in names, then the others.
func (t *transport) headers(r *http.Request) [][2]string {
	list := [][2]string{{"Host", host(r)}}
	rest := http.Header{}
	for name, values := range r.Header {
		key := http.CanonicalHeaderKey(name)
		rest[key] = append(rest[key], values...)
	}
	take := func(name string) {
		key := http.CanonicalHeaderKey(name)
		if values := rest[key]; len(values) > 0 {
			list, rest[key] = append(list, [2]string{name, strings.TrimSpace(values[0])}), values[1:]
		}
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Host"} {
		delete(rest, name) // only the transport sets these
	}
	if !slices.ContainsFunc(t.names, func(n string) bool { return strings.EqualFold(n, "User-Agent") }) {
		take("User-Agent")
	}
	for _, name := range t.names {
		take(name)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		for range len(rest[name]) {
			take(name)
		}
	}
	return list
}

func host(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// unzip decompresses content that was compressed because we requested that.
func unzip(answer *http.Response, asked bool) {
	if !asked || !strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") || answer.Body == http.NoBody {
		return
	}
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Content-Length")
	answer.ContentLength, answer.Uncompressed = -1, true
	answer.Body = &zippedContent{from: answer.Body}
}

// zippedContent checks the first bytes only when they are read, because there may be none.
type zippedContent struct {
	from  io.ReadCloser
	plain *gzip.Reader
}

// Read implements io.Reader.
func (z *zippedContent) Read(p []byte) (int, error) {
	if z.plain == nil {
		plain, err := gzip.NewReader(z.from)
		if err != nil {
			return 0, err
		}
		z.plain = plain
	}
	return z.plain.Read(p)
}

// Close implements io.Closer.
func (z *zippedContent) Close() error { return z.from.Close() }

// content is a response's content; closing it closes the connection.
type content struct {
	io.Reader
	conn    net.Conn
	stop    func() bool
	request *http.Request
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns it bare
		err = cause(c.request.Context(), err)
	}
	return n, err
}

// Close implements io.Closer.
func (c *content) Close() error {
	c.stop()
	return c.conn.Close()
}
