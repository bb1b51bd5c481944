package mail_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/notice"
	"zerodag/internal/notice/mail"
)

var failed = host.Notice{Message: "Workflow session attempt failed", Revision: "r1", Task: "+main^failure-alert",
	Attempt: host.Attempt{ID: 7, SessionID: 3, Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{ID: 5, Name: "main"},
		Zone: "Asia/Tokyo", SessionTime: time.Date(2024, 1, 1, 15, 0, 0, 0, time.UTC), SessionUUID: "u"}}

var now = time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)

// TestMail (B6) proves that a notice arrives as an e-mail with Digdag's text.
func TestMail(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go serveMail(l, got)
	host, port, _ := net.SplitHostPort(l.Addr().String())
	m := mail.Sender{Server: param.New("host", host, "port", port, "tls", "false"),
		Message: param.New("from", "z@example.com", "to", []param.Value{"a@example.com"}, "subject", "s", "html", "false")}
	if _, err := m.Send(t.Context(), notice.Fields(failed, now)); err != nil {
		t.Fatal(err)
	}
	text := <-got
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	if !strings.Contains(text, "Subject: s\r\n") {
		t.Errorf("no subject in\n%s", text)
	}
	if diff := cmp.Diff(wantMail, strings.ReplaceAll(strings.TrimSuffix(body, "\r\n.\r\n"), "\r\n", "\n")); diff != "" {
		t.Error(diff)
	}
}

const wantMail = `Digdag Notification

Message: Workflow session attempt failed
Date: 2024-02-03T04:05:06.000Z

Site Id: 0
Project Name: p
Project Id: 1
Workflow Name: main
Revision: r1
Attempt Id: 7
Session Id: 3
Task Name: +main^failure-alert
Time Zone: Asia/Tokyo
Session Uuid: u
Session Time: 2024-01-02T00:00:00+09:00`

// TestMailSaysWhatFailed proves that an e-mail about a failed attempt shows, below Digdag's lines, the failed task, its
// error, its last output, and the command that resumes.
func TestMailSaysWhatFailed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go serveMail(l, got)
	address, port, _ := net.SplitHostPort(l.Addr().String())
	m := mail.Sender{Server: param.New("host", address, "port", port, "tls", "false"), Message: param.New("from", "z@example.com", "to", []param.Value{"a@example.com"}, "subject", "s", "html", "false")}
	n := failed
	n.Failure = &host.Failure{Task: "+main+b", Message: "no ${such} file", Lines: []string{"one", "two"}}
	fields := notice.Fields(n, now)
	fields.Set("url", "https://zerodag.example.com/attempts/7")
	if _, err := m.Send(t.Context(), fields); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(<-got, "\r\n\r\n")
	want := wantMail + "\n\nFailed Task: +main+b\nError: no ${such} file\nLast Lines:\n  one\n  two\nResume: zerodag retry 7 --latest-revision --resume\n\nConsole: https://zerodag.example.com/attempts/7"
	if diff := cmp.Diff(want, strings.ReplaceAll(strings.TrimSuffix(body, "\r\n.\r\n"), "\r\n", "\n")); diff != "" {
		t.Error(diff)
	}
}

// serveMail accepts one e-mail and sends its lines to got.
func serveMail(l net.Listener, got chan<- string) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	io.WriteString(c, "220 test\r\n")
	var all strings.Builder
	buffer, data := make([]byte, 4096), false
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		text := string(buffer[:n])
		all.WriteString(text)
		switch {
		case data && strings.HasSuffix(all.String(), "\r\n.\r\n"):
			data = false
			got <- all.String()
			io.WriteString(c, "250 ok\r\n")
		case data:
		case strings.HasPrefix(text, "DATA"):
			data = true
			io.WriteString(c, "354 go on\r\n")
		case strings.HasPrefix(text, "QUIT"):
			io.WriteString(c, "221 bye\r\n")
			return
		default:
			io.WriteString(c, "250 ok\r\n")
		}
	}
}
