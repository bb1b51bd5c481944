package aesgcm

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
)

var testKey = []byte("0123456789abcdef")

// TestSecretRecord proves that a stored secret has the documented format (wire.md 3.2), byte by byte, and that records
// of version 1 can be read.
func TestSecretRecord(t *testing.T) {
	t.Parallel()
	text, err := Encrypt(testKey, "hello ✓")
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
	other, err := Encrypt(testKey, "hello ✓")
	if err != nil || other == text {
		t.Errorf("a secret is encrypted twice to the same text (%v)", err)
	}
	old := append([]byte("aesgcm\x00\x00\x00\x01\x00\x00\x00\x01"), "twelve bytes"...)
	padded := make([]byte, 4+16<<10)
	binary.BigEndian.PutUint32(padded, 3)
	copy(padded[4:], "old")
	old = gcmOf(t).Seal(old, []byte("twelve bytes"), padded, nil)
	if value, err := Decrypt(testKey, base64.StdEncoding.EncodeToString(old)); err != nil || value != "old" {
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

// TestSecretTrouble proves that damaged records are refused, and that the use of the wrong key is reported.
func TestSecretTrouble(t *testing.T) {
	t.Parallel()
	text, err := Encrypt(testKey, "value")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Decrypt([]byte("another key 1234"), text)
	if err == nil || !strings.Contains(err.Error(), "wrong key") || !strings.Contains(err.Error(), "digdag.secret-encryption-key") {
		t.Errorf("with another key: %v", err)
	}
	damaged := []byte(text)
	damaged[len(damaged)-3] ^= 1
	for _, bad := range []string{"", "%", "aGVsbG8=", string(damaged), text[:40]} {
		if v, err := Decrypt(testKey, bad); err == nil {
			t.Errorf("record %q is %q", bad, v)
		}
	}
	if _, err := Encrypt(testKey, strings.Repeat("x", maxSecret+1)); err == nil {
		t.Error("a value of more than 16 KiB was taken")
	}
}

// FuzzDecrypt proves that no input breaks the record reader.
func FuzzDecrypt(f *testing.F) {
	text, err := Encrypt(testKey, "value")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("")
	f.Fuzz(func(t *testing.T, record string) {
		if value, err := Decrypt(testKey, record); err == nil && len(value) > maxSecret {
			t.Errorf("a value of %d bytes was read", len(value))
		}
	})
}
