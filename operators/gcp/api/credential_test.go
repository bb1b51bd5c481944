package api_test

import (
	"errors"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/integration/gcpfake"
	"zerodag/operators/gcp/api"
)

// FuzzReadCredential checks that no text causes a panic, that an error is always reported as the project's own mistake,
// and that its message contains no part of a key.
func FuzzReadCredential(f *testing.F) {
	f.Add(gcpfake.Credential("http://127.0.0.1:1"))
	f.Add(gcpfake.UserCredential("https://example.com"))
	f.Add(`{"type": "service_account", "private_key": "hush-hush", "client_email": "a@b.c", "token_uri": "http://[::1%25x]:9/%zz"}`)
	f.Add(`{"type": 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := api.ReadCredential(text)
		var mine *param.ConfigError
		switch {
		case err == nil && c == nil:
			t.Error("neither a credential nor an error")
		case err != nil && !errors.As(err, &mine):
			t.Errorf("%v is no ConfigError", err)
		case err != nil && strings.Contains(err.Error(), "hush-hush"):
			t.Errorf("%v has the key", err)
		}
	})
}

// TestCheckAddress checks the addresses to which a key may be sent.
func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://oauth2.googleapis.com/token": true, "https://private.p.googleapis.com": true, "http://127.0.0.1:99/token": true, "http://[::1]:99": true,
		"http://localhost:1": true, "http://169.254.169.254/latest": false, "http://example.com": false, "ftp://localhost": false, "https://": false,
		"https://user:pass@example.com": false, "https://example.com/?key=1": false, "https://example.com/#x": false, "": false, "oauth2.googleapis.com": false,
		"http://localhost.example.com": false,
	} {
		if err := api.CheckAddress("address", address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
