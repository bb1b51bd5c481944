package conformance

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// webPeer is the HTTP server that recorded workflows call.
type webPeer struct {
	*httptest.Server
	mu    sync.Mutex
	flaky map[string]int
}

func newWebPeer(t testing.TB) *webPeer {
	w := &webPeer{flaky: map[string]int{}}
	w.Server = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.Close)
	return w
}

func (w *webPeer) answer(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	status, kind, text := http.StatusOK, "text/plain", ""
	switch parts[0] {
	case "echo":
		kind, text = "application/json", echoed(r, string(body))
	case "status":
		status, _ = strconv.Atoi(parts[1])
		text = fmt.Sprintf("status %d body", status)
	case "flaky": // /flaky/KEY/N: N times 500, then 200
		status, text = w.flakyStatus(parts[1], parts[2]), "flaky"
	case "dig":
		kind, text = digAnswer(parts[1])
	case "bad":
		kind, text = "application/json", "][ not a workflow"
	default:
		status, text = http.StatusNotFound, "no such thing"
	}
	out.Header().Set("Content-Type", kind)
	out.Header().Set("Content-Length", strconv.Itoa(len(text)))
	out.WriteHeader(status)
	if r.Method != http.MethodHead {
		io.WriteString(out, text)
	}
}

func (w *webPeer) flakyStatus(key, times string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _ := strconv.Atoi(times)
	w.flaky[key]++
	if w.flaky[key] <= n {
		return http.StatusInternalServerError
	}
	w.flaky[key] = 0
	return http.StatusOK
}

// echoed describes a request as the recordings do: with Python's spacing, sorted.
func echoed(r *http.Request, body string) string {
	if r.ContentLength > 0 { // net/http removes it from the headers
		r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	var headers []string
	for _, k := range sortedHeaders(r.Header) {
		switch k {
		case "host", "user-agent", "accept-encoding", "connection":
		default:
			values := r.Header.Values(k) // the last one of several, as recorded
			headers = append(headers, quote(k)+": "+quote(values[len(values)-1]))
		}
	}
	return fmt.Sprintf(`{"body": %s, "headers": {%s}, "method": %s, "path": %s}`,
		quote(body), strings.Join(headers, ", "), quote(r.Method), quote(r.URL.RequestURI()))
}

func sortedHeaders(h http.Header) []string {
	m := object{}
	for k := range h {
		m[strings.ToLower(k)] = true
	}
	return sortedKeys(m)
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // strings can always be encoded
	var ascii strings.Builder
	for _, r := range strings.TrimSpace(b.String()) {
		if r < 128 {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	return ascii.String()
}

func digAnswer(form string) (kind, text string) {
	switch form {
	case "json":
		return "application/json", `{"+remote": {"echo>": "from json ${v}"}}`
	case "yaml":
		return "application/x-yaml", yamlWorkflow
	}
	return "text/plain", yamlWorkflow
}

const yamlWorkflow = "+remote:\n  echo>: from yaml ${v}\n+second:\n  echo>: second\n"

// mailPeer is an SMTP server that keeps received messages.
type mailPeer struct {
	port  int
	mu    sync.Mutex
	mails []object
}

func newMailPeer(t testing.TB) *mailPeer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &mailPeer{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *mailPeer) serve(c net.Conn) {
	defer c.Close()
	say := func(s string) { io.WriteString(c, s+"\r\n") }
	say("220 conform")
	in := bufio.NewScanner(c)
	var from string
	var to []string
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		switch word := strings.ToUpper(line[:min(4, len(line))]); word {
		case "DATA":
			say("354 go on")
			p.keep(from, to, readData(in))
			from, to = "", nil
			say("250 ok")
		case "MAIL":
			from = address(line)
			say("250 ok")
		case "RCPT":
			to = append(to, address(line))
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		case "HELO", "EHLO", "RSET", "NOOP":
			say("250 ok")
		default:
			say("502 no")
		}
	}
}

func readData(in *bufio.Scanner) []byte {
	var lines []string
	for in.Scan() && in.Text() != "." {
		lines = append(lines, strings.TrimPrefix(in.Text(), "."))
	}
	return []byte(strings.Join(lines, "\n"))
}

func address(line string) string {
	_, a, _ := strings.Cut(line, ":")
	a, _, _ = strings.Cut(strings.TrimSpace(a), " ")
	return strings.Trim(a, "<>")
}

func (p *mailPeer) keep(from string, to []string, data []byte) {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return
	}
	header := func(k string) any {
		if v, ok := m.Header[k]; ok {
			return v[0]
		}
		return nil
	}
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	kind, _, _ := mime.ParseMediaType(m.Header.Get("Content-Type"))
	recipients := []any{}
	for _, r := range to {
		recipients = append(recipients, r)
	}
	got := object{"envelope_from": from, "envelope_to": recipients, "subject": subject, "from": header("From"),
		"to": header("To"), "cc": header("Cc"), "bcc": header("Bcc"), "content_type": kind,
		"parts": partsOf(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), "", m.Body)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, got)
}

func partsOf(contentType, encoding, disposition string, body io.Reader) []any {
	kind, params, _ := mime.ParseMediaType(contentType)
	if strings.HasPrefix(kind, "multipart/") {
		parts := []any{}
		reader := multipart.NewReader(body, params["boundary"])
		for {
			p, err := reader.NextRawPart()
			if err != nil {
				return parts
			}
			parts = append(parts, partsOf(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p.Header.Get("Content-Disposition"), p)...)
		}
	}
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	content, _ := io.ReadAll(body)
	_, placed, _ := mime.ParseMediaType(disposition)
	var charset, filename any
	if c := params["charset"]; c != "" {
		charset = strings.ToLower(c)
	}
	if f := placed["filename"]; f != "" {
		filename = f
	}
	return []any{object{"type": kind, "charset": charset, "filename": filename, "body": string(content)}}
}

// take removes and returns the messages whose subject starts with prefix.
func (p *mailPeer) take(prefix string) []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine, others := []any{}, []object{}
	for _, m := range p.mails {
		if strings.HasPrefix(m["subject"].(string), prefix) {
			mine = append(mine, m)
		} else {
			others = append(others, m)
		}
	}
	p.mails = others
	return mine
}
