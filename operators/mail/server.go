package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Time limits for the server.
const (
	connectTime = 10 * time.Second
	answerTime  = 60 * time.Second
)

// server is the mail server and its login.
type server struct {
	host               string
	port               int64
	username, password string
	tls, ssl           bool // upgraded by STARTTLS, or encrypted from the start
	network            operators.Network
}

func (s *server) address() string { return net.JoinHostPort(s.host, strconv.FormatInt(s.port, 10)) }

// findServer uses the task's server or the host's, each as a whole: the host's password must not go to a server that a
// task names.
func findServer(t *operators.Task, p, host *operators.Params) (*server, error) {
	secrets, err := mailSecrets(t)
	if err != nil {
		return nil, err
	}
	p.Get("debug")
	if p.Has("host") || secrets.Has("host") {
		return readServer(operators.NewParams(param.Merge(ownServer(p), secrets)), t.Dialer())
	}
	if host.Has("host") {
		return readServer(host, &net.Dialer{}) // the host's administrator decides where its server is
	}
	return nil, operators.Failf("Missing SMTP configuration")
}

// mailSecrets returns the secrets below `mail.`, as a tree.
func mailSecrets(t *operators.Task) (*param.Map, error) {
	found := param.New()
	for _, key := range []string{"host", "port", "username", "password", "tls", "ssl"} {
		value, ok, err := t.Secrets.Get("mail." + key)
		if err != nil {
			return nil, err
		}
		if ok {
			found.Set(key, value)
		}
	}
	return found, nil
}

// ownServer returns the task's settings for its server. They include no password: passwords were never read from
// parameters.
func ownServer(p *operators.Params) *param.Map {
	own := param.New()
	for _, key := range []string{"host", "port", "username", "tls", "ssl"} {
		if v, ok := p.Get(key); ok && v != nil {
			own.Set(key, v)
		}
	}
	return own
}

func readServer(p *operators.Params, network operators.Network) (*server, error) {
	s := &server{network: network}
	var err error
	if s.host, err = p.String("host"); err != nil {
		return nil, err
	}
	if s.port, err = p.Int("port"); err != nil {
		return nil, err
	}
	if s.username, err = p.StringOr("username", ""); err != nil {
		return nil, err
	}
	if s.password, err = p.StringOr("password", ""); err != nil {
		return nil, err
	}
	if s.tls, err = p.BoolOr("tls", true); err != nil {
		return nil, err
	}
	s.ssl, err = p.BoolOr("ssl", false)
	return s, err
}

// send delivers a message to the server. After an error, it may be unknown whether the server accepted it.
func (s *server) send(ctx context.Context, m *message) error {
	content, err := m.bytes()
	if err != nil {
		return err
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	client, err := smtp.NewClient(patient{conn}, s.host)
	if err != nil {
		return err
	}
	if err := s.introduce(client); err != nil {
		return err
	}
	if err := client.Mail("<" + m.from.mailbox + ">"); err != nil {
		return err
	}
	for _, to := range m.recipients() {
		if err := client.Rcpt("<" + to + ">"); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	data, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write(content); err != nil {
		return err
	}
	if err := data.Close(); err != nil {
		return err
	}
	client.Quit() //nolint:errcheck // the message is accepted, whatever the response
	return nil
}

func (s *server) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := s.network.DialContext(ctx, "tcp", s.address())
	if err != nil || !s.ssl {
		return conn, err
	}
	safe := tls.Client(conn, s.tlsConfig())
	if err := safe.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return safe, nil
}

func (s *server) tlsConfig() *tls.Config { return &tls.Config{ServerName: s.host} }

// introduce secures the connection and logs in, if the server supports it.
func (s *server) introduce(client *smtp.Client) error {
	if offered, _ := client.Extension("STARTTLS"); offered && s.tls && !s.ssl {
		if err := client.StartTLS(s.tlsConfig()); err != nil {
			return fmt.Errorf("start TLS: %w", err)
		}
	}
	offered, mechanisms := client.Extension("AUTH")
	if s.username == "" || !offered {
		return nil
	}
	// A task that requires TLS must not reveal a password to a server without it.
	plainAllowed := !s.tls
	// The authorization identity is the user, as in Digdag: servers that were set up for it may compare the whole
	// response.
	auth := smtp.PlainAuth(s.username, s.username, s.password, s.host, plainAllowed)
	switch list := " " + strings.ToUpper(mechanisms) + " "; {
	case strings.Contains(list, " PLAIN "):
	case strings.Contains(list, " LOGIN "):
		auth = smtp.LoginAuth(s.username, s.password, s.host, plainAllowed)
	case strings.Contains(list, " CRAM-MD5 "):
		auth = smtp.CRAMMD5Auth(s.username, s.password)
	}
	if err := client.Auth(auth); err != nil {
		return fmt.Errorf("log in as %s: %w", s.username, err)
	}
	return nil
}

// patient is a connection with a time limit for each response.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}
