// Package ssh implements `ssh>`: it runs a command on a remote host over SSH. Agents that may open connections run it.
// It must connect only to the server that the task names, must never trust a key that the task does not name, and must
// never log secrets.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `ssh>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "ssh", Summary: "runs a command on a remote host over SSH", Retries: true, Run: run}
}

// request is the command with its connection settings.
type request struct {
	command        string
	address        string
	user           string
	trust          trust
	methods        []ssh.AuthMethod
	connect, limit time.Duration // the latter 0 for none
	out, errors    bool          // shown in the task's log
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("ssh")
	if err != nil {
		return operators.Result{}, err
	}
	r, err := read(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	client, err := r.dial(ctx, t.Dialer())
	if err != nil {
		return operators.Result{}, err
	}
	defer client.Close() //nolint:errcheck // the command has ended before
	return operators.Result{}, r.run(ctx, client, t.Log)
}

func read(t *operators.Task, p *operators.Params) (*request, error) {
	r := &request{}
	var err error
	if r.command, err = p.String("_command"); err != nil {
		return nil, err
	}
	if r.command, err = t.SecretText(r.command); err != nil {
		return nil, err
	}
	host, err := setting(t, p, "host")
	if err != nil {
		return nil, err
	}
	if r.user, err = setting(t, p, "user"); err != nil {
		return nil, err
	}
	port, err := p.IntOr("port", 22)
	if err != nil {
		return nil, err
	}
	if port < 1 || port > 65535 {
		return nil, param.Errorf("Parameter 'port' must be a port from 1 to 65535: %d", port)
	}
	r.address = net.JoinHostPort(host, strconv.FormatInt(port, 10))
	if r.connect, err = p.DurationOr("connect_timeout", 30*time.Second); err != nil {
		return nil, err
	}
	if r.limit, err = operators.ReadOr(p, "command_timeout", asTime, 0); err != nil {
		return nil, err
	}
	if r.out, err = p.BoolOr("stdout_log", true); err != nil {
		return nil, err
	}
	if r.errors, err = p.BoolOr("stderr_log", true); err != nil {
		return nil, err
	}
	if r.trust, err = readTrust(t, p, host, r.address); err != nil {
		return nil, err
	}
	r.methods, err = methods(t, p)
	return r, err
}

// asTime reads a duration, or a number of seconds as in the Digdag plugin.
func asTime(key string, v param.Value) (time.Duration, error) {
	if n, err := param.AsInt(key, v); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return param.AsDuration(key, v)
}

// setting reads a parameter that a secret may override.
func setting(t *operators.Task, p *operators.Params, key string) (string, error) {
	secret, err := t.OptionalSecret("ssh." + key)
	switch {
	case err != nil:
		return "", err
	case secret != "":
		return secret, nil
	case !p.Has(key):
		return "", param.Errorf("Parameter '%s' is required but not set: write it in the task or in `_export: {ssh: {%[1]s: ...}}`, or set the secret ssh.%[1]s", key)
	}
	return p.String(key)
}

// methods returns the ways to log in that the task's secrets provide.
func methods(t *operators.Task, p *operators.Params) ([]ssh.AuthMethod, error) {
	byPassword, err := p.BoolOr("password_auth", false)
	if err != nil {
		return nil, err
	}
	other, err := p.StringOr("password_override", "")
	if err != nil {
		return nil, err
	}
	if byPassword || other != "" {
		name := "password"
		if other != "" {
			name = other
		}
		password, err := t.RequireSecret("ssh." + name)
		if err != nil {
			return nil, err
		}
		answers := func(_, _ string, questions []string, _ []bool) ([]string, error) {
			list := make([]string, len(questions))
			for i := range list {
				list[i] = password
			}
			return list, nil
		}
		return []ssh.AuthMethod{ssh.Password(password), ssh.KeyboardInteractive(answers)}, nil
	}
	key, err := t.RequireSecret("ssh.private_key")
	if err != nil {
		return nil, err
	}
	passphrase, err := t.OptionalSecret("ssh.passphrase")
	if err != nil {
		return nil, err
	}
	signer, err := signerOf(key, passphrase)
	if err != nil {
		return nil, err
	}
	return []ssh.AuthMethod{ssh.PublicKeys(signer)}, nil
}

// signerOf reads a private key. Its errors must not contain the library's messages, which may quote the key.
func signerOf(key, passphrase string) (ssh.Signer, error) {
	var signer ssh.Signer
	var err error
	if passphrase == "" {
		signer, err = ssh.ParsePrivateKey([]byte(key))
	} else {
		signer, err = ssh.ParsePrivateKeyWithPassphrase([]byte(key), []byte(passphrase))
	}
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer, nil
	case errors.As(err, &locked):
		return nil, param.Errorf("The secret ssh.private_key has a passphrase: set the secret ssh.passphrase")
	case passphrase != "":
		return nil, param.Errorf("The secret ssh.private_key cannot be read with the secret ssh.passphrase")
	}
	return nil, param.Errorf("The secret ssh.private_key is not a private key in OpenSSH or PEM format")
}

// dial connects and logs in.
func (r *request) dial(ctx context.Context, network operators.Network) (*ssh.Client, error) {
	if r.connect > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.connect)
		defer cancel()
	}
	conn, err := network.DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, operators.Causedf(err, "Failed to connect to %s [%v]", r.address, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var unknown *unknownKeyError
	c, channels, requests, err := ssh.NewClientConn(conn, r.address, &ssh.ClientConfig{
		User: r.user, Auth: r.methods, HostKeyCallback: r.trust.callback, HostKeyAlgorithms: r.trust.algorithms})
	switch {
	case err == nil:
		return ssh.NewClient(c, channels, requests), nil
	case errors.As(err, &unknown):
		conn.Close()
		return nil, param.Errorf("%v", unknown)
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	conn.Close()
	return nil, operators.Causedf(err, "Failed to log in to %s as %s [%v]", r.address, r.user, err)
}

// farewell is how long a command may take to end after it is asked to.
const farewell = 5 * time.Second

// run executes the command and waits for its end. A command that takes too long, or whose attempt is killed, is asked
// to end, then killed, if the server passes signals on.
func (r *request) run(ctx context.Context, client *ssh.Client, log operators.Log) error {
	s, err := client.NewSession()
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err() // the end of ctx closed the connection
	case err != nil:
		return operators.Causedf(err, "Failed to open a session on %s [%v]", r.address, err)
	}
	defer s.Close() //nolint:errcheck // the command has ended before
	output := &lines{log: log}
	if r.out {
		s.Stdout = output
	}
	if r.errors {
		s.Stderr = output
	}
	switch err := s.Start(r.command); {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return operators.Causedf(err, "Failed to start the command on %s [%v]", r.address, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	limited := ctx
	if r.limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, r.limit)
		defer cancel()
	}
	select {
	case err := <-ended:
		return r.outcome(err)
	case <-limited.Done():
	}
	end(s, ended)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return operators.Failf("The command took longer than %v and was killed (command_timeout)", r.limit)
}

// end asks the command to end, and kills it if it does not.
func end(s *ssh.Session, ended <-chan error) {
	for _, signal := range []ssh.Signal{ssh.SIGTERM, ssh.SIGKILL} {
		if s.Signal(signal) != nil {
			return // the connection has closed
		}
		timer := time.NewTimer(farewell)
		select {
		case <-ended: //nolint:errcheck // why it ended is known: it was asked to
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// outcome returns how a command ended.
func (r *request) outcome(err error) error {
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return operators.Causedf(err, "The connection to %s was lost, so the outcome of the command is unknown [%v]", r.address, err)
	case exit.Signal() != "":
		return operators.Faultf("", "Command failed with code %d (signal %s)", exit.ExitStatus(), exit.Signal())
	}
	return operators.Faultf("", "Command failed with code %d", exit.ExitStatus())
}

// lines merges both outputs of a command, which arrive concurrently, into one log.
type lines struct {
	mutex sync.Mutex
	log   operators.Log
}

func (l *lines) Write(b []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n, err := l.log.Write(b)
	if err != nil {
		return n, fmt.Errorf("write the log: %w", err)
	}
	return n, nil
}
