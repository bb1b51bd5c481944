package sqlite

import (
	"strings"
	"testing"
	"time"
)

// TestSecretTrouble proves that secrets are neither stored nor read without a key, and that this is reported.
func TestSecretTrouble(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	db := open(t, Options{Path: path, SecretKey: testKey})
	if err := db.PutSecret(ctx, 1, 1, "key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Path: path})
	_, err := db.ProjectSecrets(ctx, 1, 1)
	wantText(t, err, "set digdag.secret-encryption-key")
	wantText(t, db.PutSecret(ctx, 1, 1, "key", "value"), "set digdag.secret-encryption-key")
	if list, err := db.SecretKeys(ctx, 1, 1); err != nil || len(list) != 1 {
		t.Errorf("keys without a key: %v, %v", list, err)
	}
	_, err = Open(ctx, Options{SecretKey: []byte("short")})
	wantText(t, err, "5 bytes", "16 random bytes")
}

// TestParamStore proves that the values of sites are separate and are kept for 90 days.
func TestParamStore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	db, ctx := open(t, Options{Now: func() time.Time { return now }}), t.Context()
	one, two := db.ParamStore(1), db.ParamStore(2)
	if err := one.Set(ctx, map[string]string{"a": "1", "b": strings.Repeat("x", 1000)}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(90 * 24 * time.Hour)
	if err := one.Set(ctx, map[string]string{"c": "new"}); err != nil {
		t.Fatal(err)
	}
	if v, ok, err := one.Get(ctx, "a"); v != "1" || !ok || err != nil {
		t.Errorf("after 90 days: %q, %v, %v", v, ok, err)
	}
	if v, ok, err := two.Get(ctx, "a"); ok || err != nil {
		t.Errorf("of another site: %q, %v", v, err)
	}
	now = now.Add(time.Millisecond)
	if v, ok, err := one.Get(ctx, "a"); ok || err != nil {
		t.Errorf("after more than 90 days: %q, %v", v, err)
	}
	if v, ok, err := one.Get(ctx, "c"); v != "new" || !ok || err != nil {
		t.Errorf("the newer value: %q, %v, %v", v, ok, err)
	}
}
