// Package sshd starts a real OpenSSH server for a test, on 127.0.0.1, for the user that runs the test or, if that is
// root, for the user postgres, who has a shell: OpenSSH only passes on signals after it has dropped privileges. It must
// only be imported by tests.
package sshd

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"zerodag/operators/operatortest/daemon"
)

// Server is a running server.
type Server struct {
	Port        int
	User        string
	Key         string // the private key that logs in
	Fingerprint string // of the server's key
	KnownHosts  string // the known_hosts line for it
}

const program = "/usr/sbin/sshd"

// Start starts a server that ends with the test. Without the program, the test is skipped, or fails if REQUIRE names
// peers.
func Start(t testing.TB) Server {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		daemon.Skip(t, fmt.Errorf("no OpenSSH server is installed: install it (apt-get install openssh-server, or `make tools` as root): %w", err))
	}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	pam := "no"
	folder, _ := daemon.Folder(t, "sshd", "postgres")
	if os.Geteuid() == 0 {
		if other, err := user.Lookup("postgres"); err == nil {
			who, pam = other, "yes" // without PAM, accounts without a password cannot log in
		}
		// The system service creates this when it starts; sshd refuses to run without it.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	serverKey, serverPublic := NewKey(t, "")
	userKey, userPublic := NewKey(t, "")
	s := Server{Port: daemon.FreePort(t), User: who.Username, Key: userKey, Fingerprint: ssh.FingerprintSHA256(serverPublic)}
	s.KnownHosts = fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, ssh.MarshalAuthorizedKey(serverPublic))
	path := func(name string) string { return filepath.Join(folder, name) }
	daemon.Write(t, path("host_key"), serverKey, nil)
	if err := os.WriteFile(path("authorized_keys"), ssh.MarshalAuthorizedKey(userPublic), 0o644); err != nil { // #nosec G306 -- it is public, and the user reads it
		t.Fatal(err)
	}
	daemon.Write(t, path("config"), strings.Join([]string{
		"ListenAddress 127.0.0.1", fmt.Sprint("Port ", s.Port), "HostKey " + path("host_key"), "AuthorizedKeysFile " + path("authorized_keys"),
		"PidFile none", "StrictModes no", "UsePAM " + pam, "PermitRootLogin yes", "PasswordAuthentication no", "LogLevel ERROR", "",
	}, "\n"), nil)
	address := fmt.Sprintf("127.0.0.1:%d", s.Port)
	daemon.Run(t, folder, nil, "TERM", func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	}, program, "-D", "-e", "-f", path("config"))
	return s
}

// NewKey creates a key pair; the private key is in OpenSSH's format, encrypted with a passphrase unless that is "".
func NewKey(t testing.TB, passphrase string) (private string, public ssh.PublicKey) {
	t.Helper()
	p, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if public, err = ssh.NewPublicKey(p); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), public
}
