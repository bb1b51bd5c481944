package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"zerodag/internal/seal"
)

type value struct{ Who string }

// TestSeal proves that a value opens with the same key for the same purpose, and for no other, that its text reveals
// nothing and differs each time, and that every changed byte is detected.
func TestSeal(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, 16)
	box := seal.New(seal.Fixed(key))
	text, err := box.Seal(t.Context(), "session", value{"alice"})
	again, err2 := box.Seal(t.Context(), "session", value{"alice"})
	if err != nil || err2 != nil || text == again {
		t.Fatalf("%q %v, again %q %v", text, err, again, err2)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || bytes.Contains(sealed, []byte("alice")) {
		t.Errorf("%q shows its value (%v)", text, err)
	}
	var got value
	if err := seal.New(seal.Fixed(key)).Open(t.Context(), "session", text, &got); err != nil || got.Who != "alice" {
		t.Errorf("another process: %+v %v", got, err)
	}
	newer := bytes.Repeat([]byte{9}, 16)
	if err := seal.New(seal.Fixed(newer), bytes.Repeat([]byte{8}, 16), key).Open(t.Context(), "session", text, &got); err != nil || got.Who != "alice" {
		t.Errorf("a process that also has the key: %+v %v", got, err)
	}
	if text, err := seal.New(seal.Fixed(newer), key).Seal(t.Context(), "session", value{"bob"}); err != nil || box.Open(t.Context(), "session", text, &got) == nil {
		t.Errorf("a further key sealed a text: %v", err)
	}
	for name, open := range map[string]error{
		"purpose":     box.Open(t.Context(), "state", text, &got),
		"key":         seal.New(seal.Fixed(bytes.Repeat([]byte{8}, 16))).Open(t.Context(), "session", text, &got),
		"random key":  seal.New(seal.Fixed(nil)).Open(t.Context(), "session", text, &got),
		"empty":       box.Open(t.Context(), "session", "", &got),
		"no text":     box.Open(t.Context(), "session", "=?", &got),
		"longer":      box.Open(t.Context(), "session", text+"AAAA", &got),
		"shorter":     box.Open(t.Context(), "session", text[:len(text)-4], &got),
		"other bytes": box.Open(t.Context(), "session", strings.Repeat("A", len(text)), &got),
	} {
		if !errors.Is(open, seal.ErrBroken) {
			t.Errorf("another %s: %v, want %v", name, open, seal.ErrBroken)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if err := box.Open(t.Context(), "session", base64.RawURLEncoding.EncodeToString(changed), &got); !errors.Is(err, seal.ErrBroken) {
			t.Errorf("with byte %d changed: %v", i, err)
		}
	}
}

// TestMark proves that marks of the same string are the same in all processes with a key, and differ otherwise.
func TestMark(t *testing.T) {
	t.Parallel()
	mark := func(key byte, text string) string {
		m, err := seal.New(seal.Fixed(bytes.Repeat([]byte{key}, 16))).Mark(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return string(m)
	}
	if first, again := mark(1, "a"), mark(1, "a"); first != again || mark(1, "a") == mark(1, "b") || mark(1, "a") == mark(2, "a") {
		t.Error("marks do not tell texts and keys apart")
	}
}

// TestKeyThatCannotBeRead proves that an outage is not reported as invalid text, and that a short key is refused.
func TestKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	outage := errors.New("outage")
	down := seal.New(func(context.Context) ([]byte, error) { return nil, outage })
	if _, err := down.Seal(t.Context(), "session", 1); !errors.Is(err, outage) {
		t.Errorf("seal: %v", err)
	}
	if err := down.Open(t.Context(), "session", "x", new(int)); !errors.Is(err, outage) || errors.Is(err, seal.ErrBroken) {
		t.Errorf("open: %v", err)
	}
	if _, err := down.Mark(t.Context(), "x"); !errors.Is(err, outage) {
		t.Errorf("mark: %v", err)
	}
	if _, err := seal.New(seal.Fixed([]byte("short"))).Seal(t.Context(), "session", 1); err == nil {
		t.Error("a short key seals")
	}
}

// TestSpent proves that a name can be used only once until it expires, and that many names take up limited memory: the
// names that expire last are kept.
func TestSpent(t *testing.T) {
	t.Parallel()
	box, now := seal.New(seal.Fixed(nil)), time.Unix(1_700_000_000, 0)
	if !box.Spend("a", now, now.Add(time.Hour)) || box.Spend("a", now, now.Add(time.Hour)) {
		t.Error("a name is not used up once")
	}
	if !box.Spend("a", now.Add(time.Hour), now.Add(3*time.Hour)) {
		t.Error("a name is used up for ever")
	}
	for i := range 10_050 {
		box.Spend("n"+strconv.Itoa(i), now, now.Add(time.Hour))
	}
	if until := now.Add(time.Hour); box.Spend("a", now, until) || box.Spend("n10049", now, until) || !box.Spend("n0", now, until) {
		t.Error("the wrong names were forgotten")
	}
}

// FuzzOpen proves that text that was not sealed neither opens nor causes a panic.
func FuzzOpen(f *testing.F) {
	box := seal.New(seal.Fixed(bytes.Repeat([]byte{7}, 16)))
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if err := box.Open(t.Context(), "session", text, new(value)); !errors.Is(err, seal.ErrBroken) {
			t.Errorf("%q opens: %v", text, err)
		}
	})
}
