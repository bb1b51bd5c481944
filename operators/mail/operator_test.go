package mail

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gomail "github.com/wneessen/go-mail"

	"zerodag/engine/param"
	"zerodag/operators/operatortest"
)

// sink is a mail server that stores all commands that it gets.
type sink struct {
	listener net.Listener
	offers   string      // an addition to the EHLO response, "AUTH PLAIN"
	taken    chan string // one session each, as lines
	refuse   string      // an unknown recipient
}

func newSink(t *testing.T, offers string) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &sink{listener: l, offers: offers, taken: make(chan string, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.session(conn)
		}
	}()
	return s
}

func (s *sink) port() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return port
}

func (s *sink) session(conn net.Conn) {
	defer conn.Close()
	var told strings.Builder
	defer func() { s.taken <- told.String() }()
	in := bufio.NewScanner(conn)
	fmt.Fprint(conn, "220 sink\r\n")
	data := false
	for in.Scan() {
		line := in.Text()
		told.WriteString(line + "\n")
		word, _, _ := strings.Cut(line, " ")
		switch {
		case data && line == ".":
			data = false
			fmt.Fprint(conn, "250 ok\r\n")
		case data:
		case word == "EHLO":
			fmt.Fprintf(conn, "250-sink\r\n250 %s\r\n", s.offers)
		case word == "DATA":
			data = true
			fmt.Fprint(conn, "354 go on\r\n")
		case s.refuse != "" && strings.Contains(line, s.refuse):
			fmt.Fprint(conn, "550 nobody\r\n")
		case word == "AUTH":
			fmt.Fprint(conn, "235 welcome\r\n")
		case word == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

func params(s *sink, more string) string {
	return `{"host": "127.0.0.1", "port": "` + s.port() + `", "tls": false, "from": "me@example.com", ` + more + `}`
}

func TestMail(t *testing.T) {
	t.Parallel()
	s := newSink(t, "8BITMIME")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good:     params(s, `"_command": {"data": "x"}, "to": "a@b.c", "subject": "s", "cc": [], "bcc": [], "html": true, "debug": true, "ssl": false`),
		Wrong: []string{
			params(s, `"to": "a@b.c", "subject": "s"`), params(s, `"_command": "none.txt", "to": "a@b.c", "subject": "s"`),
			params(s, `"_command": "../x", "to": "a@b.c", "subject": "s"`), params(s, `"_command": {}, "to": "a@b.c", "subject": "s"`),
			params(s, `"body": "x", "subject": "s"`), params(s, `"body": "x", "to": "a@b.c"`), params(s, `"body": "x", "to": "a b", "subject": "s"`),
			params(s, `"body": "x", "to": "a@b.c", "cc": "a@b.c", "subject": "s"`), params(s, `"body": "x", "to": {}, "subject": "s"`),
			params(s, `"body": "x", "to": "a@b.c", "subject": "s", "attach_files": 1`),
			params(s, `"body": "x", "to": "a@b.c", "subject": "s", "attach_files": [{}]`),
			params(s, `"body": "x", "to": "a@b.c", "subject": "s", "attach_files": [{"path": "none"}]`),
			params(s, `"body": "x", "to": "a@b.c", "subject": "s", "ssl": "x"`),
			`{"body": "x", "to": "a@b.c", "subject": "s", "host": "x", "from": "a@b.c"}`,
			`{"mail": 1}`,
		},
	})
}

// sent runs a task and returns the envelope and the message that the sink got.
func sent(t *testing.T, s *sink, w *operatortest.World) ([]string, *mail.Message) {
	t.Helper()
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
		t.Fatal(diff)
	}
	told := <-s.taken
	head, rest, _ := strings.Cut(told, "DATA\n")
	content, _, _ := strings.Cut(rest, "\n.\n")
	m, err := mail.ReadMessage(strings.NewReader(content))
	if err != nil {
		t.Fatalf("%v in %q", err, content)
	}
	var envelope []string
	for line := range strings.Lines(head) {
		if strings.Contains(line, ":<") {
			envelope = append(envelope, strings.Fields(line)[0]+" "+line[strings.Index(line, "<")+1:strings.Index(line, ">")])
		}
	}
	return envelope, m
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	s := newSink(t, "8BITMIME")
	w := operatortest.New(t, params(s, `"_command": "body.txt", "subject": "s é", "to": ["a@example.com", "B <b@example.com>"],
		"cc": ["c@example.com"], "bcc": ["d@example.com"]`))
	w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${name}", "World"), nil }
	w.File(t, "body.txt", "Hello ${name}\nat noon\n.\n")
	envelope, m := sent(t, s, w)
	want := []string{"MAIL me@example.com", "RCPT a@example.com", "RCPT b@example.com", "RCPT c@example.com", "RCPT d@example.com"}
	if diff := cmp.Diff(want, envelope); diff != "" {
		t.Error(diff)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Error(err)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		t.Error(err)
	}
	got := []string{m.Header.Get("From"), m.Header.Get("To"), m.Header.Get("Cc"), m.Header.Get("Bcc"), m.Header.Get("Content-Type"), subject, string(body)}
	if diff := cmp.Diff([]string{"me@example.com", `a@example.com, B <b@example.com>`, "c@example.com", "", "text/plain; charset=utf-8",
		"s é", "Hello World\nat noon\n.."}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	s := newSink(t, "8BITMIME")
	w := operatortest.New(t, params(s, `"body": "<b>é</b>", "html": true, "subject": "s", "to": "a@example.com", "attach_files": [
		{"path": "sub/data.bin"}, {"path": "sub/data.bin", "filename": "Grüße.txt", "content_type": "text/csv; header=present"}]`))
	w.File(t, "sub/data.bin", "\x00\x01")
	_, m := sent(t, s, w)
	_, options, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for parts := multipart.NewReader(m.Body, options["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Error(err)
		}
		_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		got = append(got, part.Header.Get("Content-Type")+"|"+disposition["filename"]+"|"+strings.TrimSpace(string(content)))
	}
	want := []string{"text/html; charset=utf-8||<b>é</b>", "application/octet-stream|/data.bin|AAE=", "text/csv; charset=utf-8; header=present|Grüße.txt|AAE="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	const task = `{"body": "x", "subject": "s", "to": "a@b.c", "from": "me@b.c"`
	own, host := newSink(t, "AUTH PLAIN"), newSink(t, "AUTH LOGIN PLAIN")
	config := `{"mail": {"host": "127.0.0.1", "port": ` + host.port() + `, "tls": "false", "username": "hostuser", "password": "hostpw", "from": "host@b.c"}}`
	for name, c := range map[string]struct {
		params  string
		secrets operatortest.Vault
		taker   *sink
		login   string // AUTH line, "" for none
	}{
		"the host's":            {task + `}`, nil, host, "AUTH PLAIN aG9zdHVzZXIAaG9zdHVzZXIAaG9zdHB3"},
		"the task's, no mixing": {task + `, "host": "127.0.0.1", "tls": false, "port": ` + own.port() + `}`, nil, own, ""},
		"the task's with secret": {task + `, "host": "127.0.0.1", "tls": false, "username": "u", "password": "never", "port": ` + own.port() + `}`,
			operatortest.Vault{"mail.password": "p"}, own, "AUTH PLAIN dQB1AHA="},
		"all secret": {task + `, "host": "nosuch.invalid"}`, operatortest.Vault{"mail.host": "127.0.0.1", "mail.port": own.port(), "mail.tls": "false"}, own, ""},
	} {
		w := operatortest.New(t, c.params)
		w.Config = operatortest.Map(t, config)
		w.Secrets = c.secrets
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
			continue
		}
		told := <-c.taker.taken
		if c.login == "" && strings.Contains(told, "AUTH") || !strings.Contains(told, c.login) {
			t.Errorf("%s: got %s", name, told)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := newSink(t, "AUTH PLAIN")
	s.refuse = "nobody@"
	const missing = `{"body": "x", "subject": "s", "to": "a@b.c"}`
	for params, want := range map[string]operatortest.Ended{
		missing:                                  {Error: "Missing SMTP configuration"},
		params(s, `"body": "x", "subject": "s"`): {Error: "Parameter 'to' is required but not set", Kind: "config"},
		params(s, `"body": "x", "subject": "s", "to": "nobody@b.c"`):       {Error: "send mail through ADDRESS: nobody@b.c: 550 \"nobody\""},
		params(s, `"_command": "none.txt", "subject": "s", "to": "a@b.c"`): {Error: "File not found: ROOT/none.txt", Kind: "config"},
		params(s, `"_command": "bad.txt", "subject": "s", "to": "a@b.c"`):  {Error: "wrong in bad.txt", Kind: "config"},
	} {
		w := operatortest.New(t, params)
		w.File(t, "bad.txt", "x")
		w.Template = func(string) (string, error) { return "", param.Errorf("wrong") }
		got := operatortest.RunOnce(t, Operator(), w)
		got.Error = strings.NewReplacer("127.0.0.1:"+s.port(), "ADDRESS", w.Files.Root(), "ROOT").Replace(got.Error)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gomail.Encoding{
		"plain\n": "8bit", "": "8bit", "two\r\nlines": "8bit", strings.Repeat("x", 998) + "\n": "8bit", strings.Repeat("x", 999): "quoted-printable",
		"mostly é": "quoted-printable", "日本": "base64", "a\x00b": "quoted-printable", "lone\rreturn": "quoted-printable",
	} {
		if got := encodingFor(text); got != want {
			t.Errorf("%.20q: got %s, want %s", text, got, want)
		}
	}
}
