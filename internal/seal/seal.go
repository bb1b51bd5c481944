// Package seal turns small values into text that others can carry but neither read nor forge: the cookies of a sign-in.
//
// The API uses it; a deployment gives it the key. It must never report why a sealed text is invalid, so that the error
// reveals nothing to the caller.
package seal

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrBroken means that a sealed text does not come from this box or has a different purpose.
var ErrBroken = errors.New("the text was not sealed with this key")

// KeySize is the minimum size of a key in bytes.
const KeySize = 16

// Box seals and opens. It is safe for concurrent use.
type Box struct {
	key    func(ctx context.Context) ([]byte, error)
	others [][]byte // only open

	mu    sync.Mutex
	spent map[string]time.Time // until when, by name
}

// New returns a box. key is called each time and must be cheap; all boxes of a deployment have the same key of at least
// KeySize bytes. Text that was sealed with an earlier key can be opened only if others contains that key.
func New(key func(ctx context.Context) ([]byte, error), others ...[]byte) *Box {
	return &Box{key: key, others: others, spent: map[string]time.Time{}}
}

// Fixed returns a function that always returns key; if key is nil, it is a random key for the life of this process.
func Fixed(key []byte) func(context.Context) ([]byte, error) {
	if key == nil {
		key = make([]byte, KeySize)
		rand.Read(key) // never fails
	}
	return func(context.Context) ([]byte, error) { return key, nil }
}

// derived derives a key for one use from the deployment's key, which may have other uses.
func derived(key []byte, use string) ([]byte, error) {
	if len(key) < KeySize {
		return nil, fmt.Errorf("the sealing key is %d bytes, but at least %d are required", len(key), KeySize)
	}
	return hkdf.Key(sha256.New, key, nil, "zerodag seal 1 "+use, 32)
}

func (b *Box) current(ctx context.Context) ([]byte, error) {
	key, err := b.key(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	return key, nil
}

func cipherOf(key []byte, purpose string) (cipher.AEAD, error) {
	key, err := derived(key, "value "+purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal returns sealed text that contains a value as JSON. It can be opened only for the same purpose.
func (b *Box) Seal(ctx context.Context, purpose string, v any) (string, error) {
	key, err := b.current(ctx)
	if err != nil {
		return "", err
	}
	c, err := cipherOf(key, purpose)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(c.Seal(nil, nil, plain, nil)), nil // #nosec G407 -- the cipher creates a random nonce itself and accepts none
}

// Open reads sealed text into v. It returns ErrBroken if the text was not sealed by this box for this purpose, or
// another error if the key cannot be read.
func (b *Box) Open(ctx context.Context, purpose, text string, v any) error {
	current, err := b.current(ctx)
	if err != nil {
		return err
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return ErrBroken
	}
	for _, key := range append([][]byte{current}, b.others...) {
		c, err := cipherOf(key, purpose)
		if err != nil {
			return err
		}
		if plain, err := c.Open(nil, nil, sealed, nil); err == nil {
			if json.Unmarshal(plain, v) != nil {
				return ErrBroken
			}
			return nil
		}
	}
	return ErrBroken
}

// Mark returns a string's mark: the same string always has the same mark, and no one without the key can create a mark
// or guess its string.
func (b *Box) Mark(ctx context.Context, text string) ([]byte, error) {
	key, err := b.current(ctx)
	if err != nil {
		return nil, err
	}
	if key, err = derived(key, "mark"); err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil), nil
}

// mostSpent limits how many names a box remembers.
const mostSpent = 10_000

// Spend marks a name as used until a given time, and reports whether this is the first use. Only this process remembers
// it: processes that share a key have separate marks.
func (b *Box) Spend(name string, now, until time.Time) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.spent[name]) {
		return false
	}
	if len(b.spent) >= mostSpent {
		maps.DeleteFunc(b.spent, func(_ string, until time.Time) bool { return !now.Before(until) })
	}
	if len(b.spent) >= mostSpent { // dropping the names that expire first does the least harm
		soonest := slices.MinFunc(slices.Collect(maps.Keys(b.spent)), func(x, y string) int {
			return cmp.Or(b.spent[x].Compare(b.spent[y]), cmp.Compare(x, y))
		})
		delete(b.spent, soonest)
	}
	b.spent[name] = until
	return true
}
