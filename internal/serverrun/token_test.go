package serverrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/datafolder"
	"zerodag/internal/host"
)

// TestDropFirstToken proves that the file with the first token is removed once another owner token that never expires
// exists or the token was revoked, that nothing else removes it, and that an error is only reported.
func TestDropFirstToken(t *testing.T) {
	t.Parallel()
	hash := sha256.Sum256([]byte("secret"))
	first := host.Token{ID: 1, Role: "owner", Name: "first owner", Hash: hash[:]}
	twin := host.Token{ID: 3, Role: "owner", Name: "first owner", Hash: []byte("twin")}
	other := func(role string, ends time.Time) host.Token {
		return host.Token{ID: 2, Role: role, Hash: []byte("other"), ExpiresAt: ends}
	}
	for name, c := range map[string]struct {
		start  []host.Token // nil means the first token alone
		tokens []host.Token
		err    error
		stays  bool
		says   string
	}{
		"alone":                        {tokens: []host.Token{first}, stays: true},
		"beside an admin":              {tokens: []host.Token{first, other("admin", time.Time{})}, stays: true},
		"beside an owner that expires": {tokens: []host.Token{first, other("owner", time.Now().Add(365*24*time.Hour))}, stays: true},
		"beside an owner":              {tokens: []host.Token{first, other("owner", time.Time{})}, says: "was removed"},
		"revoked":                      {tokens: []host.Token{other("viewer", time.Time{})}, says: "was removed"},
		"beside another first token":   {tokens: []host.Token{first, twin}, stays: true},
		"of another database":          {start: []host.Token{other("owner", time.Time{})}, tokens: []host.Token{other("owner", time.Time{})}, stays: true},
		"unknown":                      {err: errors.New("no database"), stays: true, says: "no database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file := filepath.Join(folder, datafolder.Token)
			if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				asked := 0
				list := func(context.Context, int64) ([]host.Token, error) {
					if asked++; asked == 1 {
						if c.start != nil {
							return c.start, nil
						}
						return []host.Token{first}, nil // at the start of the server
					}
					return c.tokens, c.err
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				dropFirstToken(ctx, list, folder, slog.New(slog.NewTextHandler(&said, nil)))
				if _, err := os.Stat(file); (err == nil) != c.stays {
					t.Errorf("the file is there: %t, want %t", err == nil, c.stays)
				}
				if !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
					t.Errorf("log %q, want %q", said.String(), c.says)
				}
				if strings.Contains(said.String(), "secret") || asked < 2 {
					t.Errorf("the list was read %d times; log %s", asked, said.String())
				}
			})
		})
	}
}
