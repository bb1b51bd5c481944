//go:debug x509usefallbackroots=1
package mail

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators/operatortest"
)

// certificate returns the certificate of all strict servers. TestMain creates it and makes the process trust it.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
})

func TestMain(m *testing.M) {
	_, pool := certificate()
	x509.SetFallbackRoots(pool)
	os.Exit(m.Run())
}

// strict is a mail server that refuses everything that RFC 5321 and RFC 5322 do not allow, and headers longer than
// recommended.
type strict struct {
	listener   net.Listener
	mechanisms string // of AUTH, "" for no login
	startTLS   bool   // without TLS only STARTTLS is accepted
	taken      chan []byte
	logins     chan string
}

func newStrict(t *testing.T, s strict) *strict {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s.listener, s.taken, s.logins = l, make(chan []byte, 100), make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.session(conn)
		}
	}()
	return &s
}

func (s *strict) port() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return port
}

func (s *strict) session(conn net.Conn) {
	defer func() { conn.Close() }()
	safe, in := false, bufio.NewReader(conn)
	answer := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	answer("220 strict")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), " ")
		switch {
		case len(line) > 512 || !strings.HasSuffix(line, "\r\n") || strings.Count(line, "\r") != 1:
			answer("500 bad line of %d octets", len(line))
		case word == "EHLO":
			answer("250-strict")
			if s.mechanisms != "" && (safe || !s.startTLS) {
				answer("250-AUTH %s", s.mechanisms)
			}
			if s.startTLS && !safe {
				answer("250-STARTTLS")
			}
			answer("250 8BITMIME")
		case word == "STARTTLS" && s.startTLS && !safe:
			answer("220 go ahead")
			own, _ := certificate()
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12})
			safe, in = true, bufio.NewReader(conn)
		case s.startTLS && !safe:
			answer("530 Must issue a STARTTLS command first")
		case word == "AUTH":
			s.logins <- s.login(rest, in, answer)
			answer("235 welcome")
		case word == "DATA":
			answer("354 go on")
			content, complaint := readStrictly(in)
			if complaint != "" {
				answer("550 %s", complaint)
				continue
			}
			s.taken <- content
			answer("250 taken")
		case word == "QUIT":
			answer("221 bye")
			return
		default:
			answer("250 ok")
		}
	}
}

// login performs a mechanism's steps and returns the client's decoded responses.
func (s *strict) login(rest string, in *bufio.Reader, answer func(string, ...any)) string {
	ask := func(text string) string {
		answer("334 %s", base64.StdEncoding.EncodeToString([]byte(text)))
		line, _ := in.ReadString('\n')
		said, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		return string(said)
	}
	mechanism, first, _ := strings.Cut(rest, " ")
	switch mechanism {
	case "LOGIN":
		return "LOGIN " + ask("Username:") + "/" + ask("Password:")
	case "CRAM-MD5":
		user, _, _ := strings.Cut(ask("<1@strict>"), " ")
		return "CRAM-MD5 " + user
	}
	said, _ := base64.StdEncoding.DecodeString(first)
	return mechanism + " " + strings.ReplaceAll(string(said), "\x00", "/")
}

// readStrictly reads a message up to the line with a single dot, and returns a complaint if the message is invalid.
func readStrictly(in *bufio.Reader) (content []byte, complaint string) {
	inHeader := true
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == ".\r\n" {
			return content, complaint
		}
		text, ended := strings.CutSuffix(line, "\r\n")
		multipartHeader := strings.HasPrefix(text, "Content-")
		switch {
		case !ended || strings.ContainsAny(text, "\r\n\x00"):
			complaint = "bare line end or NUL"
		case len(text) > 998:
			complaint = fmt.Sprintf("maximum allowed line length is 998 octets, got %d", len(text))
		case (inHeader || multipartHeader) && len(text) > 78:
			complaint = fmt.Sprintf("header line of %d octets: %s", len(text), text)
		case inHeader && text != "" && strings.TrimSpace(text) == "":
			complaint = "header line of blanks"
		case inHeader && strings.ContainsFunc(text, func(c rune) bool { return c > '~' }):
			complaint = "header with other characters than ASCII: " + text
		}
		inHeader = inHeader && text != ""
		content = append(content, strings.TrimPrefix(line, ".")...)
	}
}

// sentStrictly runs a task and returns the message that a strict server received.
func sentStrictly(t *testing.T, s *strict, w *operatortest.World) *mail.Message {
	t.Helper()
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
		t.Fatal(diff)
	}
	m, err := mail.ReadMessage(bytes.NewReader(<-s.taken))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func strictTask(s *strict, more *param.Map) string {
	return string(param.AppendStored(nil, param.Merge(param.New("host", "127.0.0.1", "port", s.port(), "tls", false, "from", "me@example.com",
		"to", "you@example.com", "subject", "s", "body", "x"), more)))
}

// TestLongHeaders checks that subjects and names arrive unchanged through a server that accepts only short lines.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short": "the load failed", "Japanese": "失敗", "120 Japanese": strings.Repeat("売上", 60), "240 Japanese": strings.Repeat("集計の失敗。", 40),
		"1,500 letters": strings.Repeat("x", 1500), "1,500 with blanks": strings.Repeat("abcd ", 299) + "abcd", "mixed": strings.Repeat("été 売上 ok ", 30) + ".",
		"a long word": "see https://example.com/" + strings.Repeat("path/", 50) + " there", "blanks in a row": strings.Repeat("a", 70) + "  " + strings.Repeat("b", 80),
		"many blanks": "a" + strings.Repeat(" ", 300) + "b", "an encoded word": "=?utf-8?q?no?= really", "emoji": strings.Repeat("🍣👩‍👩‍👧", 40),
		"61 letters": strings.Repeat("y", 61), "quotes": `he said "no" \ twice`, "points and brackets": "a.b, [c] (d) <e@example.com>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := (&mail.Address{Name: text, Address: "me@example.com"}).String()
			to := (&mail.Address{Name: text, Address: "you@example.com"}).String()
			s := newStrict(t, strict{})
			m := sentStrictly(t, s, operatortest.New(t, strictTask(s, param.New("subject", text, "from", from,
				"to", []param.Value{to, "b@example.com", to}, "cc", []param.Value{to}))))
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != text {
				t.Errorf("got subject %q, %v, want %q", subject, err, text)
			}
			for header, count := range map[string]int{"From": 1, "Sender": 1, "To": 3, "Cc": 1} {
				list, err := m.Header.AddressList(header)
				if err != nil || len(list) != count || list[0].Name != text {
					t.Errorf("%s: got %v, %v, want %d of %q", header, list, err, count, text)
				}
			}
		})
	}
}

// TestSubjectWithLineEnds checks that a subject built from a message with line breaks becomes one line, and adds no
// header.
func TestSubjectWithLineEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"first\nBcc: all@example.com\r\n\r\nbody": "first Bcc: all@example.com  body", "\n  led by lines\n": "led by lines",
		"tab\there": "tab here", "失敗\nsecond": "失敗 second", "a\r\rb\x00c": "a  b c", "\n": "",
		"bad \xff byte": "bad \ufffd byte",
	} {
		s := newStrict(t, strict{})
		m := sentStrictly(t, s, operatortest.New(t, strictTask(s, param.New("subject", text))))
		got, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil || got != want || m.Header.Get("Bcc") != "" {
			t.Errorf("%q: got %q, %v, want %q; header %v", text, got, err, want, m.Header)
		}
	}
}

// TestAttachmentNames checks that names of any length arrive unchanged, in headers with short lines.
func TestAttachmentNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"data.csv", "/data.csv", "with blanks.csv", `quote".csv`, "売上.csv", strings.Repeat("売上", 40) + ".csv", strings.Repeat("x", 250), strings.Repeat("a b", 80),
		"two\r\nlines.csv", "100%;a=b'c*.csv", "🍣.csv", "=?utf-8?q?a?=",
	} {
		s := newStrict(t, strict{})
		w := operatortest.New(t, strictTask(s, param.New("attach_files", []param.Value{param.New("path", "f", "filename", name, "content_type", "text/csv; header="+strings.Repeat("z", 200))})))
		w.File(t, "f", "é,1\n")
		m := sentStrictly(t, s, w)
		_, options, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts := multipart.NewReader(m.Body, options["boundary"])
		if _, err := parts.NextPart(); err != nil {
			t.Fatal(err)
		}
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || got["filename"] != name {
			t.Errorf("got name %q, %v, want %q", got["filename"], err, name)
		}
		kind, more, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil || kind != "text/csv" || more["charset"] != "utf-8" || len(more["header"]) != 200 {
			t.Errorf("got type %s %v, %v", kind, more, err)
		}
		content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
		if err != nil || string(content) != "é,1\n" {
			t.Errorf("got %q, %v", content, err)
		}
	}
}

// TestBodies checks that text arrives unchanged, except for its line endings.
func TestBodies(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain\n", "two\nlines", ".\n.\n..", strings.Repeat("x", 5000), strings.Repeat("売上 ", 2000), "mostly é\nand = signs  \n", "From me\n",
		strings.Repeat("a line of a report with 50 characters in it, about\n", 200),
	} {
		for _, html := range []bool{false, true} {
			s := newStrict(t, strict{})
			m := sentStrictly(t, s, operatortest.New(t, strictTask(s, param.New("body", text, "html", html))))
			body := m.Body
			switch m.Header.Get("Content-Transfer-Encoding") {
			case "base64":
				body = base64.NewDecoder(base64.StdEncoding, body)
			case "quoted-printable":
				body = quotedprintable.NewReader(body)
			}
			got, err := io.ReadAll(body)
			if err != nil || strings.TrimSuffix(strings.ReplaceAll(string(got), "\r\n", "\n"), "\n") != strings.TrimSuffix(text, "\n") {
				t.Errorf("got %.60q, %v, want %.60q", got, err, text)
			}
			if want := map[bool]string{false: "text/plain; charset=utf-8", true: "text/html; charset=utf-8"}[html]; m.Header.Get("Content-Type") != want {
				t.Errorf("got type %s, want %s", m.Header.Get("Content-Type"), want)
			}
		}
	}
}

// TestStartTLSAndLogin checks that a connection is encrypted before the password is sent, with each mechanism.
func TestStartTLSAndLogin(t *testing.T) {
	t.Parallel()
	for mechanisms, want := range map[string]string{"PLAIN": "PLAIN u/u/p", "LOGIN": "LOGIN u/p", "CRAM-MD5": "CRAM-MD5 u", "LOGIN PLAIN": "PLAIN u/u/p"} {
		s := newStrict(t, strict{startTLS: true, mechanisms: mechanisms})
		w := operatortest.New(t, strictTask(s, param.New("tls", true, "username", "u")))
		w.Secrets = operatortest.Vault{"mail.password": "p"}
		sentStrictly(t, s, w)
		if got := <-s.logins; got != want {
			t.Errorf("%s: got %q, want %q", mechanisms, got, want)
		}
	}
	s := newStrict(t, strict{startTLS: true})
	got := operatortest.RunOnce(t, Operator(), operatortest.New(t, strictTask(s, param.New("tls", false))))
	if !strings.Contains(got.Error, "STARTTLS") {
		t.Errorf("without TLS: got %+v", got)
	}
}

// FuzzHeader searches for text that results in a broken header: one that is too long, not ASCII, or different from the
// text.
func FuzzHeader(f *testing.F) {
	for _, text := range []string{"a", "売上", "a  b", "=?utf-8?b?YQ==?=", strings.Repeat("x", 200), "\r\nBcc: x", "\xff", `"\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := &message{from: address{text, "me@example.com"}, to: []address{{text, "a@example.com"}, {text, "b@example.com"}}, subject: text,
			attachments: []attachment{{name: text, kind: "text/plain", content: []byte(text)}}, id: "1"}
		content, err := m.bytes()
		if err != nil {
			t.Fatal(err)
		}
		if _, complaint := readStrictly(bufio.NewReader(io.MultiReader(bytes.NewReader(content), strings.NewReader("\r\n.\r\n")))); complaint != "" {
			t.Errorf("%s in\n%s", complaint, content)
		}
		read, err := mail.ReadMessage(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject")); err != nil || len(read.Header) != 8 {
			t.Errorf("got %q, %v, header %v", got, err, read.Header)
		}
		if list, err := read.Header.AddressList("To"); err != nil || len(list) != 2 {
			t.Errorf("got %v, %v of %q", list, err, read.Header.Get("To"))
		}
	})
}
