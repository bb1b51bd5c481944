package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
)

// TestSecretTrouble proves that secrets are neither stored nor read without a key, and that this is reported.
func TestSecretTrouble(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	db := open(t, Options{Path: path, SecretKeys: [][]byte{testKey}})
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
	_, err = Open(ctx, Options{SecretKeys: [][]byte{[]byte("short")}})
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

// TestRekey proves that a key can be replaced in four steps, after each of which secrets can still be read: the new key
// is added, it becomes the first, all secrets are encrypted again, and the old key is removed. After that, the old key
// alone is refused, and so is every other key, even if there are no secrets.
func TestRekey(t *testing.T) {
	t.Parallel()
	path, ctx, before, after := fileOf(t), t.Context(), testKey, []byte("fedcba9876543210")
	secrets := map[string]string{}
	for i := range 450 { // more than two batches
		secrets[fmt.Sprintf("k%03d", i)] = strings.Repeat("v", i)
	}
	step := func(name string, keys [][]byte, run func(*DB)) {
		t.Helper()
		db := open(t, Options{Path: path, SecretKeys: keys})
		if err := db.CheckKey(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run(db)
		got, err := db.ProjectSecrets(ctx, 3, 7)
		if diff := cmp.Diff(secrets, got); err != nil || diff != "" {
			t.Fatalf("%s: %v, secrets (-want +got):\n%s", name, err, diff)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put := func(db *DB, key, value string) {
		t.Helper()
		secrets[key] = value
		if err := db.PutSecret(ctx, 3, 7, key, value); err != nil {
			t.Fatal(err)
		}
	}
	step("the old key", [][]byte{before}, func(db *DB) {
		for key, value := range secrets {
			put(db, key, value)
		}
	})
	step("the new key is added", [][]byte{before, after}, func(db *DB) { put(db, "k001", "changed") })
	step("the new key encrypts", [][]byte{after, before}, func(db *DB) {
		put(db, "new", "value")
		for i, want := range []host.Rekeyed{{Secrets: 451, Changed: 450}, {Secrets: 451}} {
			got, err := db.RekeySecrets(ctx)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("rekey %d: %v (-want +got):\n%s", i, err, diff)
			}
		}
	})
	step("the old key is gone", [][]byte{after}, func(*DB) {})
	old := open(t, Options{Path: path, SecretKeys: [][]byte{before}})
	wantText(t, old.CheckKey(ctx), "digdag.secret-decryption-keys")
	if got, err := old.RekeySecrets(ctx); err != nil || len(got.Unreadable) != 451 || got.Unreadable[0] != (host.SecretName{Site: 3, Project: 7, Key: "k000"}) {
		t.Errorf("rekey with the old key: %d of %d secrets cannot be read, %v", len(got.Unreadable), got.Secrets, err)
	}
	empty := fileOf(t)
	marked := open(t, Options{Path: empty, SecretKeys: [][]byte{before}})
	if err := errors.Join(marked.CheckKey(ctx), marked.CheckKey(ctx), marked.Close()); err != nil {
		t.Fatal(err)
	}
	wantText(t, open(t, Options{Path: empty, SecretKeys: [][]byte{after}}).CheckKey(ctx), "wrong key")
	if list, err := open(t, Options{Path: fileOf(t)}).RekeySecrets(ctx); err == nil {
		t.Errorf("rekey without a key: %v", list)
	}
}
