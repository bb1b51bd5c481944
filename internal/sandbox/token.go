package sandbox

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
)

// The kinds of tokens. Each is signed by a key of the deployment, so that a forged one is refused before any store is
// read: docs/adr/0029-tickets-and-passes.md.
const (
	// ticketKind is in a machine's launch parameters, where others can read it: it is valid for one Join.
	ticketKind = "t1"
	// passKind is the kind that Join returns for a ticket; it is only in the machine's memory.
	passKind = "p1"
)

// token is a runner's credential.
type token struct {
	kind   string
	key    string // ID of the key that has signed it
	name   string // Runner.Name
	secret string // of a pass: chosen by the machine
	text   string // the signed part
	mac    []byte
}

// The length of a signature in base64, and of a string that rand.Text returns.
const (
	macLetters    = 43
	secretLetters = 26
)

// parseToken splits a token into its parts; it does not check whether it is genuine.
func parseToken(text string) (token, error) {
	parts := strings.Split(text, ".")
	t := token{kind: parts[0], text: text[:max(0, strings.LastIndexByte(text, '.'))]}
	switch {
	case t.kind == ticketKind && len(parts) == 4:
		t.key, t.name = parts[1], parts[2]
	case t.kind == passKind && len(parts) == 5:
		t.key, t.name, t.secret = parts[1], parts[2], parts[3]
		if !isSecret(t.secret) {
			return token{}, errNoToken
		}
	default:
		return token{}, errNoToken
	}
	last := parts[len(parts)-1]
	mac, err := base64.RawURLEncoding.Strict().DecodeString(last)
	if _, e := ParseName(t.name); err != nil || e != nil || len(last) != macLetters {
		return token{}, errNoToken
	}
	t.mac = mac
	return t, nil
}

// isSecret reports whether a string may be the result of rand.Text.
func isSecret(text string) bool {
	return len(text) == secretLetters && !strings.ContainsFunc(text, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '2' || c > '7') })
}

// errNoToken means that a string is not any kind of token.
var errNoToken = errors.New("not a token of a runner")

// Keyring holds the keys that sign machines' tokens. The string that it reads holds one or more keys, each of 32 bytes
// in base64, separated by spaces: the first one signs and all are accepted, so that keys can be changed while machines
// run. It is safe for concurrent use.
type Keyring struct {
	// Read returns the text of the keys, or host.ErrNotFound if none have been made yet.
	Read func(ctx context.Context) (string, error)
	// Make stores the text of new keys unless there is one already, which is not an error.
	Make func(ctx context.Context, text string) error
	Now  func() time.Time // time.Now when nil

	mu    sync.Mutex
	keys  []signingKey
	asked time.Time // when Read was last called
}

type signingKey struct {
	id    string
	bytes []byte
}

// How long keys are trusted without being read again, how often they are read at most when a caller shows an unknown
// key, and how long that may take: a machine waits for its response.
const (
	keysKept   = 5 * time.Minute
	keysPaused = 10 * time.Second
	keysTime   = 5 * time.Second
)

// keyLength is the length of a key in bytes.
const keyLength = 32

// NewKey returns the text of a new key.
func NewKey() string {
	key := make([]byte, keyLength)
	rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// parseKeys reads the text of keys.
func parseKeys(text string) ([]signingKey, error) {
	var keys []signingKey
	for _, word := range strings.Fields(text) {
		key, err := base64.StdEncoding.Strict().DecodeString(word)
		if err != nil || len(key) != keyLength { // the value is not shown: it may be almost a key
			return nil, fmt.Errorf("runner key %d is not 32 bytes in base64", len(keys)+1)
		}
		id := sha256.Sum256(append([]byte("zerodag runner key "), key...))
		keys = append(keys, signingKey{hex.EncodeToString(id[:4]), key})
	}
	if len(keys) == 0 {
		return nil, errors.New("the runner key does not exist")
	}
	return keys, nil
}

func (k *Keyring) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

// known returns the keys, or the previously read ones if they cannot be read now. want is the ID of a key that the
// caller needs; "" means any.
func (k *Keyring) known(ctx context.Context, want string) ([]signingKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	has := len(k.keys) > 0 && (want == "" || slices.ContainsFunc(k.keys, func(x signingKey) bool { return x.id == want }))
	if age := now.Sub(k.asked); has && age < keysKept || !k.asked.IsZero() && age < keysPaused {
		return k.keys, nil
	}
	k.asked = now
	bounded, cancel := context.WithTimeout(ctx, keysTime)
	defer cancel()
	text, err := k.Read(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil { // only this read timed out, not the task or the caller
		err = fmt.Errorf("%w: no answer within %v: %w", host.ErrUnavailable, keysTime, err)
	}
	if err == nil {
		var keys []signingKey
		if keys, err = parseKeys(text); err == nil {
			k.keys = keys
		}
	}
	if err != nil && !has {
		return k.keys, fmt.Errorf("read the runner keys: %w", err)
	}
	return k.keys, nil
}

// make makes a key if there is none yet; only the launcher of machines can.
func (k *Keyring) make(ctx context.Context) ([]signingKey, error) {
	keys, err := k.known(ctx, "")
	if len(keys) > 0 || !errors.Is(err, host.ErrNotFound) {
		return keys, err
	}
	if err := k.Make(ctx, NewKey()); err != nil {
		return nil, fmt.Errorf("create the runner key: %w", err)
	}
	k.mu.Lock()
	k.asked = time.Time{}
	k.mu.Unlock()
	if keys, err = k.known(ctx, ""); errors.Is(err, host.ErrNotFound) {
		err = fmt.Errorf("%w: %w", host.ErrUnavailable, err) // a new key becomes readable a moment later
	}
	return keys, err
}

// sign makes a token from its parts.
func (k *Keyring) sign(ctx context.Context, kind string, parts ...string) (string, error) {
	keys, err := k.make(ctx)
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("the runner key could not be read yet: %w", host.ErrUnavailable)
	}
	if err != nil {
		return "", err
	}
	text := strings.Join(append([]string{kind, keys[0].id}, parts...), ".")
	return text + "." + base64.RawURLEncoding.EncodeToString(macOf(keys[0].bytes, text)), nil
}

func macOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}

// check returns nil if a token was signed here, ErrGone if it was not, and host.ErrUnavailable if its key is unknown
// and cannot be read now, because the keys may just have been changed.
func (k *Keyring) check(ctx context.Context, t token) error {
	keys, err := k.known(ctx, t.key)
	if err != nil {
		return fmt.Errorf("%w: %w", host.ErrUnavailable, err)
	}
	for _, x := range keys {
		if x.id == t.key {
			if hmac.Equal(macOf(x.bytes, t.text), t.mac) {
				return nil
			}
			return ErrGone
		}
	}
	return fmt.Errorf("unknown key of a runner's token: %w", host.ErrUnavailable)
}
