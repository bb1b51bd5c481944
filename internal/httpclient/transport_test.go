package httpclient_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/httpclient"
	"zerodag/operators"
)

// raw starts a server that records the bytes of each request and responds with the given text.
func raw(t *testing.T, answer string) (url string, seen <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	requests := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var head strings.Builder
			for r := bufio.NewReader(c); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				head.WriteString(line)
			}
			requests <- head.String()
			io.WriteString(c, answer)
			c.Close()
		}
	}()
	return "http://" + l.Addr().String(), requests
}

func request(t *testing.T, method, url, content string, headers ...[2]string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", "test")
	for _, h := range headers {
		r.Header.Add(h[0], h[1])
	}
	return r
}

// TestHeadersAreSentAsWritten (B5) proves that names keep their capitalization and headers keep their order, even if
// one is between two others of the same name, or if a proxy is used.
func TestHeadersAreSentAsWritten(t *testing.T) {
	t.Parallel()
	url, seen := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	headers := [][2]string{{"foo", "1"}, {"bar", "2"}, {"foo", "3"}, {"X-UPPER", "4"}, {"aLast", " 5 "}}
	o := operators.HTTPOptions{}
	for _, h := range headers {
		o.Headers = append(o.Headers, h[0])
	}
	var clients httpclient.Clients
	ask := func(o operators.HTTPOptions, url string) string {
		r, err := clients.Client(o).Do(request(t, "POST", url+"/a?b=c", "xyz", append(headers, [2]string{"Content-Type", "text/x"})...))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return <-seen
	}
	head := func(target, host string) string {
		return "POST " + target + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: test\r\nfoo: 1\r\nbar: 2\r\nfoo: 3\r\nX-UPPER: 4\r\naLast: 5\r\n" +
			"Content-Type: text/x\r\nContent-Length: 3\r\nAccept-Encoding: gzip\r\n\r\n"
	}
	if diff := cmp.Diff(head("/a?b=c", strings.TrimPrefix(url, "http://")), ask(o, url)); diff != "" {
		t.Error(diff)
	}
	o.ProxyURL = strings.Replace(url, "http://", "http://user:pass@", 1)
	want := strings.Replace(head("http://nosuch.invalid/a?b=c", "nosuch.invalid"), "Content-Length", "Proxy-Authorization: Basic dXNlcjpwYXNz\r\nContent-Length", 1)
	if diff := cmp.Diff(want, ask(o, "http://nosuch.invalid")); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsSmuggled proves that text that would end a line or a request is never sent.
func TestNothingIsSmuggled(t *testing.T) {
	t.Parallel()
	var clients httpclient.Clients
	for _, h := range [][2]string{{"X-A", "1\r\nX-B: 2"}, {"X-A\r\nX-B", "2"}, {"", "2"}} {
		r := request(t, "GET", "http://127.0.0.1:1/", "")
		r.Header[h[0]] = []string{h[1]}
		if _, err := clients.Client(operators.HTTPOptions{}).Do(r); err == nil || !strings.Contains(err.Error(), "invalid header") {
			t.Errorf("%q was sent: %v", h, err)
		}
	}
	r := request(t, "GET", "http://127.0.0.1:1/", "")
	r.Host = "a\r\nX-B: 2"
	if _, err := clients.Client(operators.HTTPOptions{}).Do(r); err == nil || !strings.Contains(err.Error(), "the host of the request") {
		t.Error(err)
	}
}

// TestRedirectsTellNoAddress (B7) proves that the next server does not learn the redirecting address, which may contain
// a secret; a Referer in the request itself stays.
func TestRedirectsTellNoAddress(t *testing.T) {
	t.Parallel()
	var seen []string
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Get("Referer")) }))
	defer to.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to.URL, http.StatusFound) }))
	defer from.Close()
	var clients httpclient.Clients
	for _, own := range []string{"", "http://own.invalid/"} {
		r := request(t, "GET", from.URL+"/?token=SECRET", "")
		if own != "" {
			r.Header.Set("Referer", own)
		}
		answer, err := clients.Client(operators.HTTPOptions{MaxRedirects: 3}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if diff := cmp.Diff([]string{"", "http://own.invalid/"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestCookiesOfRedirects proves that a cookie that a redirect sets is sent only to its own destination, and never by a
// later client.
func TestCookiesOfRedirects(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", Path: "/"})
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Header["Cookie"])
	}))
	defer s.Close()
	var clients httpclient.Clients
	for path, want := range map[string]string{"/login": "[session=s1]", "/": "[]"} {
		if _, body, err := get(clients.Client(operators.HTTPOptions{MaxRedirects: 2}), s.URL+path); body != want {
			t.Errorf("%s: %s, %v, want %s", path, body, err, want)
		}
	}
}

// TestTunnel proves that a tunnel to an https server is requested from a proxy, and that a refusal is reported with its
// status.
func TestTunnel(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secure") }))
	defer server.Close()
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		c, both, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connected\r\n\r\n")
		go func() { io.Copy(to, both); to.Close() }()
		io.Copy(c, to)
		c.Close()
	}))
	defer proxy.Close()
	var clients httpclient.Clients
	o := operators.HTTPOptions{Insecure: true, ProxyURL: strings.Replace(proxy.URL, "http://", "http://me:secret@", 1)}
	if status, body, err := get(clients.Client(o), server.URL); status != 200 || body != "secure" {
		t.Error(status, body, err)
	}
	o.ProxyURL = proxy.URL
	_, _, err := get(clients.Client(o), server.URL)
	var refusal *operators.ProxyRefusal
	if !errors.As(err, &refusal) || refusal.Status != 407 || asked != 2 {
		t.Errorf("%v after %d questions", err, asked)
	}
}

// TestSocks proves that a SOCKS proxy connects to the server, which receives the request directly.
func TestSocks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) }))
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		head := make([]byte, 3) // version 5, one method: none
		io.ReadFull(c, head)
		c.Write([]byte{5, 0})
		ask := make([]byte, 10) // version 5, connect, 0, IPv4, address, port
		io.ReadFull(c, ask)
		to, err := net.Dial("tcp", net.JoinHostPort(net.IP(ask[4:8]).String(), fmt.Sprint(int(ask[8])<<8|int(ask[9]))))
		if err != nil {
			t.Error(err)
			return
		}
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go io.Copy(to, c)
		io.Copy(c, to)
	}()
	var clients httpclient.Clients
	o := operators.HTTPOptions{ProxyURL: "socks5://" + l.Addr().String()}
	if status, body, err := get(clients.Client(o), server.URL+"/path"); status != 200 || body != "/path" {
		t.Error(status, body, err)
	}
	o.ProxyURL = "ftp://127.0.0.1:1"
	if _, _, err := get(clients.Client(o), server.URL); err == nil || !strings.Contains(err.Error(), "use http, https or socks5") {
		t.Error(err)
	}
}

// TestContents proves that content arrives complete if it is compressed, is chunked, is preceded by an interim
// response, or ends with the connection, that HEAD has none, and that incomplete content is an error.
func TestContents(t *testing.T) {
	t.Parallel()
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "plain")
	z.Close()
	var clients httpclient.Clients
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain":                                                                    "200 plain <nil>",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\npla\r\n2\r\nin\r\n0\r\n\r\n":                                "200 plain <nil>",
		"HTTP/1.1 200 OK\r\n\r\nplain":                                                                                         "200 plain <nil>",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain":                         "200 plain <nil>",
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", zipped.Len()) + zipped.String(): "200 plain <nil>",
		"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n":                                                            "204  <nil>",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n":                                               "200  <nil>",
		"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nplain":                                                                   "200 plain unexpected EOF",
		"":                 "0  EOF",
		"nonsense\r\n\r\n": `0  malformed HTTP response "nonsense"`,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20): "0  the headers of the response exceed 1048576 bytes",
	} {
		url, _ := raw(t, answer)
		status, body, err := get(clients.Client(operators.HTTPOptions{}), url)
		got := fmt.Sprint(status, " ", body, " ", err)
		if _, reason, found := strings.Cut(got, url+`": `); found {
			got = "0  " + reason
		}
		if got != want {
			t.Errorf("%.60q is %q, want %q", answer, got, want)
		}
	}
	url, _ := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
	r, err := clients.Client(operators.HTTPOptions{}).Do(request(t, "HEAD", url, ""))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.Body); len(body) != 0 || err != nil {
		t.Error(body, err)
	}
}

// TestAnswerBeforeTheEnd proves that the response is read if a server refuses large content early.
func TestAnswerBeforeTheEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var clients httpclient.Clients
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		<-t.Context().Done() // the server does not read the request
		c.Close()
	}()
	r, err := clients.Client(operators.HTTPOptions{}).Do(request(t, "POST", "http://"+l.Addr().String(), strings.Repeat("x", 32<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 413 {
		t.Error(r.StatusCode)
	}
}

// TestEndOfTheTask proves that a request ends with its context, both while the response is awaited and while it is
// read.
func TestEndOfTheTask(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"", "some"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if io.WriteString(w, first); first != "" {
				w.(http.Flusher).Flush()
			}
			cancel()
			<-r.Context().Done()
		}))
		r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		var clients httpclient.Clients
		answer, err := clients.Client(operators.HTTPOptions{}).Do(r)
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			answer.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %q: %v", first, err)
		}
		s.Close()
	}
}
