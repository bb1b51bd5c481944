// Package daemon runs third-party servers for tests: on 127.0.0.1, as an unprivileged user, and no longer than the
// test. It must only be imported by tests.
package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Skip skips a test whose server is not installed; the test fails if REQUIRE names peers.
func Skip(t testing.TB, err error) {
	t.Helper()
	if strings.Contains(os.Getenv("REQUIRE"), "peers") {
		t.Fatal(err)
	}
	t.Skipf("NOT TESTED: %v", err)
}

// Folder creates a folder for a server's data, which is removed with the test. who is the user that owns it: the first
// of the given names that exists; nil if the test does not run as root.
func Folder(t testing.TB, server string, names ...string) (folder string, who *syscall.SysProcAttr) {
	t.Helper()
	folder, err := os.MkdirTemp("", "zerodag-"+server+"-") // t.TempDir is closed to the user it runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if os.Geteuid() != 0 {
		return folder, nil
	}
	for _, name := range append(names, "nobody") {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid) // always numbers on systems that have such users
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(folder, uid, gid); err != nil {
			t.Fatal(err)
		}
		return folder, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	t.Fatalf("%s cannot run as root, and the user nobody does not exist", server)
	return "", nil
}

// Write writes a file of a server that only its user can read.
func Write(t testing.TB, path, content string, who *syscall.SysProcAttr) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if who != nil {
		if err := os.Chown(path, int(who.Credential.Uid), int(who.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// Certificate creates a certificate that no client trusts.
func Certificate(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// FreePort returns an unused port.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// guard runs a server until its own standard input ends, which happens when the test ends, however it does.
const guard = `"$@" >"$LOG" 2>&1 & server=$!; read -r _; kill -"$SIGNAL" $server; wait $server`

// Run starts a server in its data folder and stops it with a signal ("INT") when the test ends. It returns once ready,
// which is called repeatedly, returns no error.
func Run(t testing.TB, folder string, who *syscall.SysProcAttr, signal string, ready func() error, program string, args ...string) {
	t.Helper()
	log := filepath.Join(folder, "log")
	server := exec.Command("sh", append([]string{"-c", guard, "sh", program}, args...)...)
	server.SysProcAttr, server.Dir = who, folder
	server.Env = append(os.Environ(), "LOG="+log, "SIGNAL="+signal)
	until, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		until.Close()
		server.Wait() // its exit status does not matter
		if t.Failed() {
			t.Logf("the server's log:\n%s", tail(log))
		}
	})
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := ready()
		if err == nil {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s does not respond: %v\n%s", program, err, tail(log))
		}
	}
}

func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, _ := io.ReadAll(f) // as much as there is
	return string(text[max(0, len(text)-3000):])
}
