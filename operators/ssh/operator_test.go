package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/daemon"
	"zerodag/operators/operatortest/sshd"
)

// world returns a task for a server, with that server's key.
func world(t *testing.T, s sshd.Server, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, params(s, more))
	w.Vault["ssh.private_key"] = s.Key
	return w
}

func params(s sshd.Server, more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "host_key": %q, %s}`, s.Port, s.User, s.Fingerprint, more)
}

// TestSSH contains all tests that need a real sshd. They share one.
func TestSSH(t *testing.T) {
	t.Parallel()
	s := sshd.Start(t)
	t.Run("exercise", func(t *testing.T) {
		t.Parallel()
		operatortest.Exercise(t, operatortest.Subject{
			Operator: Operator(),
			Good: params(s, `"_command": "echo ${secret:word}", "host_key_checking": true, "password_auth": false, "connect_timeout": "9s", "command_timeout": 60,
				"stdout_log": true, "stderr_log": true`),
			Slow: params(s, `"_command": "echo begun; exec sleep 1000"`),
			Prepare: func(_ *testing.T, w *operatortest.World) {
				w.Vault["ssh.private_key"], w.Vault["word"] = s.Key, "said"
			},
			Wrong: []string{
				`{}`, `{"_command": "x"}`, `{"_command": "x", "host": "h"}`, params(s, `"_command": []`), params(s, `"_command": "x", "port": 0`), params(s, `"_command": "x", "port": "x"`),
				params(s, `"_command": "x", "connect_timeout": "x"`), params(s, `"_command": "x", "command_timeout": "x"`), params(s, `"_command": "x", "stdout_log": "x"`),
				params(s, `"_command": "x", "host_key": "x"`), params(s, `"_command": "x", "host_key": {}`), params(s, `"_command": "x", "host_key_checking": "x"`),
				params(s, `"_command": "x", "password_auth": "x"`), params(s, `"_command": "x", "password_override": {}`),
				params(s, `"_command": "x", "host_key": "SHA256:AAAA"`), params(s, `"_command": "x", "host_key": []`),
			},
		})
	})
	for name, c := range map[string]struct{ params, output, fails string }{
		"both outputs":        {`"_command": "echo out; echo err >&2"`, "out\nerr\n", ""},
		"without stderr":      {`"_command": "echo out; echo err >&2", "stderr_log": false`, "out\n", ""},
		"a code":              {`"_command": "exit 3"`, "", "Command failed with code 3"},
		"a signal":            {`"_command": "kill -TERM $$"`, "", "Command failed with code 143 (signal TERM)"},
		"no such command":     {`"_command": "nosuchcommand 2>/dev/null"`, "", "Command failed with code 127"},
		"a script with lines": {`"_command": "for i in 1 2; do\n  echo $i\ndone"`, "1\n2\n", ""},
		"a public key":        {fmt.Sprintf(`"_command": "echo x", "host_key": [%q, %q]`, "SHA256:other", strings.Join(strings.Fields(s.KnownHosts)[1:], " ")), "x\n", ""},
		"any server":          {`"_command": "echo x", "host_key": [], "host_key_checking": false`, "x\n", ""},
		"too long":            {`"_command": "sleep 1000", "command_timeout": "1s"`, "", "The command took longer than 1s and was killed (command_timeout)"},
		"no server":           {`"_command": "x", "host": "127.0.0.1", "port": 1`, "", "Failed to connect to 127.0.0.1:1 ["},
		"another user":        {`"_command": "x", "user": "nosuchuser"`, "", fmt.Sprintf("Failed to log in to 127.0.0.1:%d as nosuchuser [ssh: handshake failed: ssh: unable to authenticate", s.Port)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(t, s, `"_type": "ssh"`)
			tree := operatortest.Map(t, params(s, `"_type": "ssh"`))
			for k, v := range operatortest.Map(t, "{"+c.params+"}").All() {
				tree.Set(k, v)
			}
			w.Params = operators.NewParams(tree)
			got := operatortest.RunOnce(t, Operator(), w)
			if !strings.HasPrefix(got.Error, c.fails) || c.fails == "" && got.Error != "" || !same(w.Output.String(), c.output) {
				t.Errorf("%+v, output %q, want %q and %q", got, w.Output.String(), c.output, c.fails)
			}
		})
	}
	t.Run("a killed attempt ends the command", func(t *testing.T) {
		t.Parallel()
		folder, _ := daemon.Folder(t, "ssh-ended", s.User) // the user of the server can write there
		file := filepath.Join(folder, "ended")
		w := world(t, s, fmt.Sprintf(`"_command": "trap 'echo asked > %s; exit 1' TERM; echo ready; while :; do sleep 0.1; done"`, file))
		ctx, cancel := context.WithCancel(t.Context())
		w.Output.OnWrite(cancel)
		if _, err := run(ctx, &w.Task); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(file); err == nil && string(text) == "asked\n" {
				break
			}
			if time.Since(begin) > 30*time.Second {
				t.Fatal("the command was not asked to end")
			}
		}
	})
	t.Run("the secret known_hosts", func(t *testing.T) {
		t.Parallel()
		for line, fails := range map[string]bool{s.KnownHosts: false, "other.example " + strings.Join(strings.Fields(s.KnownHosts)[1:], " "): true, "nonsense": true} {
			w := operatortest.New(t, fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "_command": "echo x"}`, s.Port, s.User))
			w.Vault["ssh.private_key"], w.Vault["ssh.known_hosts"] = s.Key, "# a comment\n"+line+"\n"
			if got := operatortest.RunOnce(t, Operator(), w); (got.Error != "") != fails {
				t.Errorf("%q: %+v", line, got)
			}
		}
	})
}

// same compares a command's outputs. Two of them may arrive in either order.
func same(got, want string) bool {
	if got == want {
		return true
	}
	lines := strings.SplitAfter(want, "\n")
	return len(lines) == 3 && got == lines[1]+lines[0]
}

// TestTrust checks that the error about a server with an unknown key shows that key, whatever key the task has.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := sshd.Start(t)
	w := world(t, s, `"_command": "echo x", "host_key": "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"`)
	tree := w.Params.All().Clone()
	tree.Set("host_key", "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8")
	w.Params = operators.NewParams(tree)
	got := operatortest.RunOnce(t, Operator(), w)
	if !strings.Contains(got.Error, `host_key: "`+s.Fingerprint+`"`) || got.Kind != "config" || w.Output.String() != "" {
		t.Errorf("%+v", got)
	}
}

// TestLogins checks how tasks log in with secrets, on a server that has a password, and that no error shows a secret.
func TestLogins(t *testing.T) {
	t.Parallel()
	const password = "open sesame"
	locked, _ := sshd.NewKey(t, "passphrase of the key")
	address, fingerprint := passwordServer(t, password)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		more    string
		secrets operatortest.Vault
		fails   string
	}{
		"password":         {`"password_auth": true`, operatortest.Vault{"ssh.password": password}, ""},
		"other password":   {`"password_override": "second"`, operatortest.Vault{"ssh.password": "x", "ssh.second": password}, ""},
		"all secret":       {`"password_auth": true, "host": "x", "user": "x"`, operatortest.Vault{"ssh.password": password, "ssh.host": "127.0.0.1", "ssh.user": "alice"}, ""},
		"wrong password":   {`"password_auth": true`, operatortest.Vault{"ssh.password": "not this"}, "Failed to log in to " + address + " as alice ["},
		"no password":      {`"password_auth": true`, nil, "Secret not found for key: 'ssh.password'"},
		"nothing":          {`"port": ` + port, nil, "Secret not found for key: 'ssh.private_key'"},
		"no key":           {`"port": ` + port, operatortest.Vault{"ssh.private_key": "hunter2"}, "The secret ssh.private_key is not a private key"},
		"a locked key":     {`"port": ` + port, operatortest.Vault{"ssh.private_key": locked}, "The secret ssh.private_key has a passphrase"},
		"wrong passphrase": {`"port": ` + port, operatortest.Vault{"ssh.private_key": locked, "ssh.passphrase": "hunter2"}, "The secret ssh.private_key cannot be read"},
		"key not accepted": {`"port": ` + port, operatortest.Vault{"ssh.private_key": locked, "ssh.passphrase": "passphrase of the key"}, "Failed to log in to "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := operatortest.Map(t, fmt.Sprintf(`{"host": "127.0.0.1", "port": %s, "user": "alice", "host_key": %q, "_command": "x"}`, port, fingerprint))
			for k, v := range operatortest.Map(t, "{"+c.more+"}").All() {
				tree.Set(k, v)
			}
			w := operatortest.New(t, `{}`)
			w.Params, w.Secrets = operators.NewParams(tree), c.secrets
			got := operatortest.RunOnce(t, Operator(), w)
			if !strings.HasPrefix(got.Error, c.fails) || c.fails == "" && got.Error != "" {
				t.Errorf("%+v, want %q", got, c.fails)
			}
			for _, secret := range []string{password, "not this", "hunter2", "passphrase of"} {
				if strings.Contains(got.Error+w.Output.String(), secret) {
					t.Errorf("%q is told: %+v %q", secret, got, w.Output.String())
				}
			}
		})
	}
}

// passwordServer starts a server for one user, alice, with a password. Every command on it succeeds.
func passwordServer(t *testing.T, password string) (address, fingerprint string) {
	t.Helper()
	key, public := sshd.NewKey(t, "")
	signer, err := ssh.ParsePrivateKey([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
		if c.User() == "alice" && string(given) == password {
			return nil, nil
		}
		return nil, errors.New("wrong")
	}}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, config)
		}
	}()
	return l.Addr().String(), ssh.FingerprintSHA256(public)
}

func serve(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range asked {
			r.Reply(true, nil)
			if r.Type == "exec" {
				io.WriteString(channel, "done\n")
				channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
				channel.Close()
			}
		}
	}
}
