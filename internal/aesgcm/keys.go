package aesgcm

import (
	"errors"
	"fmt"
)

// Keys holds a store's keys. The first key encrypts, and all keys decrypt, so that a key can be replaced while servers
// run. Without any key, there are no secrets.
type Keys [][]byte

// Check returns an error if a key has the wrong size.
func (k Keys) Check() error {
	for _, key := range k {
		if len(key) != KeySize {
			return fmt.Errorf("the secret key is %d bytes, not %d: set digdag.secret-encryption-key to %d random bytes in base64",
				len(key), KeySize, KeySize)
		}
	}
	return nil
}

// Encrypt encrypts a value with the first key. There must be one.
func (k Keys) Encrypt(value string) (string, error) { return Encrypt(k[0], value) }

// Decrypt decrypts a record with the key that encrypted it; current means that this is the first key. If no key fits,
// it returns the first key's error.
func (k Keys) Decrypt(text string) (value string, current bool, err error) {
	if len(k) == 0 {
		return "", false, errors.New("there is no key")
	}
	value, err = Decrypt(k[0], text)
	if err == nil {
		return value, true, nil
	}
	for _, key := range k[1:] {
		if value, again := Decrypt(key, text); again == nil {
			return value, false, nil
		}
	}
	return "", false, err
}
