package serverrun

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// certified writes the certificate of package httptest, which is valid for 127.0.0.1, and returns its configuration and
// a client that trusts it.
func certified(t *testing.T) (config string, client *http.Client) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return "server.tls.cert-file = " + cert + "\nserver.tls.key-file = " + key + "\n", &http.Client{Transport: transport}
}

// TestTLS proves that both listeners serve HTTP/2 over TLS with the configured certificate, that many requests on one
// connection are served at once, and that plain HTTP gets no response from the API.
func TestTLS(t *testing.T) {
	t.Parallel()
	config, client := certified(t)
	address, end := running(t, "", config+"server.admin.port = 0\n")
	base := strings.Replace(address, "http://", "https://", 1)
	answers := make(chan error, 20)
	for range cap(answers) {
		go func() { answers <- speaks(t, client, base+"/api/version") }()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if a, err := http.Get(strings.Replace(base, "https://", "http://", 1) + "/api/version"); err == nil {
		if a.Body.Close(); a.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP: %s", a.Status)
		}
	}
	log, err := end()
	if err != nil || !strings.Contains(log, "Listening on https://") {
		t.Errorf("%v, the log says:\n%s", err, log)
	}
}

// speaks requests a server's version, and returns an error unless the response came over HTTP/2.
func speaks(t *testing.T, client *http.Client, address string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	var v struct{ Version string }
	if err := json.NewDecoder(a.Body).Decode(&v); err != nil || a.ProtoMajor != 2 || v.Version == "" {
		t.Errorf("%s: %s %v, %v", address, a.Proto, v, err)
	}
	return nil
}
