// Package certificate holds a server's TLS certificate: a certificate and its key in PEM files, which are read again
// when they change.
//
// The listeners of a server share it. It must never interrupt connections, nor replace a certificate that works with
// one that does not.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files names the PEM files of a certificate.
type Files struct {
	Cert string // the server's certificate, followed by the certificates of intermediate authorities
	Key  string // its private key, not encrypted
}

// lookEvery is the minimum time between two checks for changed files. Checks are made during handshakes.
const lookEvery = time.Second

// Certificate is a certificate that follows its files. It is safe for concurrent use.
type Certificate struct {
	files  Files
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	version version   // the version of the files from which current was read
	refused string    // the last reason why changed files were not used, so that it is logged only once
	looked  time.Time // when the files were last checked
}

// version distinguishes the contents of the files from later ones.
type version struct {
	certTime, keyTime time.Time
	certSize, keySize int64
}

// Open reads a certificate. It returns an error if the files cannot be read or do not match.
func Open(f Files, now func() time.Time, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{files: f, now: now, logger: logger, looked: now()}
	var err error
	if c.version, err = f.version(); err != nil {
		return nil, err
	}
	c.current, err = f.load(now())
	return c, err
}

// Config returns a listener's configuration: TLS 1.2 or newer, and HTTP/2 if the client supports it.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil }}
}

func (c *Certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked).Abs() >= lookEvery {
		c.looked = now
		c.follow(now)
	}
	return c.current
}

// follow reads the files again if they have changed. If they do not work, the old certificate stays in use: the files
// may be half written, and the next change will be noticed.
func (c *Certificate) follow(now time.Time) {
	v, err := c.files.version()
	if err == nil && v == c.version {
		return
	}
	var read *tls.Certificate
	if err == nil {
		read, err = c.files.load(now)
	}
	if err != nil {
		if text := err.Error(); text != c.refused {
			c.refused = text
			c.logger.Error("the changed TLS certificate is not used, and the earlier one stays in use", "error", err)
		}
		return
	}
	c.current, c.version, c.refused = read, v, ""
	c.logger.Info("the TLS certificate was read again", "file", c.files.Cert, "expires", read.Leaf.NotAfter.UTC())
}

func (f Files) version() (v version, err error) {
	cert, err := os.Stat(f.Cert)
	if err != nil {
		return v, fmt.Errorf("read the TLS certificate: %w", err)
	}
	key, err := os.Stat(f.Key)
	if err != nil {
		return v, fmt.Errorf("read the key of the TLS certificate: %w", err)
	}
	return version{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}

func (f Files) load(now time.Time) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read the TLS certificate %s and its key %s: %w", f.Cert, f.Key, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("read the TLS certificate %s: %w", f.Cert, err)
		}
	}
	if now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("the TLS certificate %s expired at %s: renew it", f.Cert, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return &pair, nil
}
