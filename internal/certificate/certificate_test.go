package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a new certificate with a serial number into the files, and sets their time.
func write(t *testing.T, f Files, serial int64, at time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, f.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), at)
	put(t, f.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), at)
}

func put(t *testing.T, path string, text []byte, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestFollow proves that new files are used starting with the next handshake, that broken, mismatched or missing files
// leave the earlier certificate in use and are logged once, and that a later repair is noticed.
func TestFollow(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now().Truncate(time.Second)
	dir := t.TempDir()
	f := Files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	write(t, f, 1, now)
	c, err := Open(f, func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := func(serial int64, problems int) {
		t.Helper()
		for range 3 {
			now = now.Add(lookEvery)
			if got := c.get().Leaf.SerialNumber.Int64(); got != serial {
				t.Errorf("certificate %d, want %d", got, serial)
			}
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != problems {
			t.Errorf("%d problems are logged, want %d:\n%s", n, problems, &log)
		}
	}
	want(1, 0)
	write(t, f, 2, now.Add(time.Minute))
	if got := c.get().Leaf.SerialNumber.Int64(); got != 1 {
		t.Errorf("the files are read at each handshake: %d", got)
	}
	want(2, 0)
	put(t, f.Cert, []byte("broken"), now.Add(2*time.Minute))
	want(2, 1)
	if err := os.Remove(f.Key); err != nil {
		t.Fatal(err)
	}
	want(2, 2)
	write(t, f, 3, now.Add(3*time.Minute))
	want(3, 2)
	other := Files{filepath.Join(dir, "other.pem"), f.Key}
	write(t, other, 4, now.Add(4*time.Minute)) // a new key for the old certificate
	want(3, 3)
	write(t, f, 5, now.Add(-3*time.Hour)) // expired
	want(3, 4)
}

// TestOpenBroken proves that a server does not start with files that do not work.
func TestOpenBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := Files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	if _, err := Open(f, time.Now, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Errorf("missing files: %v", err)
	}
	put(t, f.Cert, []byte("x"), time.Now())
	put(t, f.Key, []byte("x"), time.Now())
	if _, err := Open(f, time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("broken files are taken")
	}
}

// TestConfig proves that a listener refuses TLS 1.1 and offers HTTP/2, and that a connection stays open when the
// certificate is replaced.
func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := Files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	write(t, f, 1, time.Now())
	c, err := Open(f, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shake := func(client *tls.Config) (*tls.Conn, error) {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		client.InsecureSkipVerify, client.NextProtos = true, []string{"h2"} // #nosec G402 -- the test's own certificate
		server := tls.Server(a, c.Config())
		go func() { _ = server.Handshake() }() // the client sees how it ends
		conn := tls.Client(b, client)
		return conn, conn.HandshakeContext(t.Context())
	}
	conn, err := shake(&tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12})
	if err != nil || conn.ConnectionState().NegotiatedProtocol != "h2" {
		t.Errorf("TLS 1.2: %v, protocol %q", err, conn.ConnectionState().NegotiatedProtocol)
	}
	if _, err := shake(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil { // #nosec G402 -- it must be refused
		t.Error("TLS 1.1 is accepted")
	}
}
