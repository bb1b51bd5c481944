package sqlite

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"
)

// TestSecretRecord proves the form of a stored secret (wire.md 3.2), byte by byte,
// and that a record of version 1 is read.
func TestSecretRecord(t *testing.T) {
	t.Parallel()
	text, err := encrypt(testKey, "hello ✓")
	if err != nil {
		t.Fatal(err)
	}
	record, err := base64.StdEncoding.DecodeString(text)
	if err != nil || string(record[:14]) != "aesgcm\x00\x00\x00\x02\x00\x00\x00\x01" || len(record) != 14+12+16+16 {
		t.Fatalf("record is %q (%v)", record, err)
	}
	plain, err := gcmOf(t).Open(nil, record[14:26], record[26:], nil)
	if err != nil || string(plain) != "\x00\x00\x00\x09hello ✓\x00\x00\x00" {
		t.Errorf("plain text is %q (%v)", plain, err)
	}
	other, err := encrypt(testKey, "hello ✓")
	if err != nil || other == text {
		t.Errorf("a secret is encrypted twice to the same text (%v)", err)
	}
	old := append([]byte("aesgcm\x00\x00\x00\x01\x00\x00\x00\x01"), "twelve bytes"...)
	padded := make([]byte, 4+16<<10)
	binary.BigEndian.PutUint32(padded, 3)
	copy(padded[4:], "old")
	old = gcmOf(t).Seal(old, []byte("twelve bytes"), padded, nil)
	if value, err := decrypt(testKey, base64.StdEncoding.EncodeToString(old)); err != nil || value != "old" {
		t.Errorf("a record of version 1 is %q (%v)", value, err)
	}
}

func gcmOf(t *testing.T) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(testKey)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return gcm
}

// TestSecretTrouble proves that damaged records, another key and no key are told apart.
func TestSecretTrouble(t *testing.T) {
	t.Parallel()
	text, err := encrypt(testKey, "value")
	if err != nil {
		t.Fatal(err)
	}
	_, err = decrypt([]byte("another key 1234"), text)
	wantText(t, err, "the key does not fit", "digdag.secret-encryption-key")
	damaged := []byte(text)
	damaged[len(damaged)-3] ^= 1
	for _, bad := range []string{"", "%", "aGVsbG8=", string(damaged), text[:40]} {
		if v, err := decrypt(testKey, bad); err == nil {
			t.Errorf("record %q is %q", bad, v)
		}
	}
	path, ctx := fileOf(t), t.Context()
	db := open(t, Options{Path: path, SecretKey: testKey})
	if err := db.PutSecret(ctx, 1, 1, "key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Path: path})
	_, err = db.ProjectSecrets(ctx, 1, 1)
	wantText(t, err, "set digdag.secret-encryption-key")
	wantText(t, db.PutSecret(ctx, 1, 1, "key", "value"), "set digdag.secret-encryption-key")
	if list, err := db.SecretKeys(ctx, 1, 1); err != nil || len(list) != 1 {
		t.Errorf("keys without a key: %v, %v", list, err)
	}
	_, err = Open(ctx, Options{SecretKey: []byte("short")})
	wantText(t, err, "5 bytes", "16 random bytes")
}

// TestParamStore proves that values of sites are apart and are kept for 90 days.
func TestParamStore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	db, ctx := open(t, Options{Now: func() time.Time { return now }}), t.Context()
	one, two := db.ParamStore(1), db.ParamStore(2)
	if err := one.Set(ctx, map[string]string{"a": "1", "b": strings.Repeat("x", 1000)}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(paramLifetime)
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
