package serverconfig

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zerodag/internal/configuration"
	"zerodag/internal/datafolder"
	"zerodag/internal/files"
)

// secretKeys reads the key that encrypts secrets: configuration, environment, or a file. If none is set, it creates a
// new one and keeps it with the data, so that secrets just work. It does not create one if servers share a database,
// because each server would have a different key. The key is followed by keys that only decrypt. An empty result means
// that there is no key.
func secretKeys(r *configuration.Reading, folder string, shares bool) ([][]byte, error) {
	keys, err := encryptionKey(r, folder, shares)
	more := r.List("digdag.secret-decryption-keys")
	if err != nil || len(more) == 0 {
		return keys, err
	}
	if len(keys) == 0 {
		return nil, errors.New("digdag.secret-decryption-keys needs digdag.secret-encryption-key, which encrypts")
	}
	others, err := readKeys("each key of digdag.secret-decryption-keys", more...)
	return append(keys, others...), err
}

// encryptionKey reads the key that encrypts, and any further keys in its file.
func encryptionKey(r *configuration.Reading, folder string, shares bool) ([][]byte, error) {
	source, text := "configuration key digdag.secret-encryption-key", r.Text("digdag.secret-encryption-key", "")
	if text == "" {
		source, text = "environment variable ZERODAG_SECRET_KEY", os.Getenv("ZERODAG_SECRET_KEY")
	}
	file := r.Text("server.secret-key-file", "")
	if text == "" && file == "" && shares {
		return nil, nil
	}
	if text == "" && file == "" && folder == "" {
		key := make([]byte, 16)
		rand.Read(key) // never fails
		return [][]byte{key}, nil
	}
	if text == "" {
		made := file == ""
		if made {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return nil, fmt.Errorf("create the data folder: %w", err)
			}
			file = filepath.Join(folder, datafolder.Key)
		}
		content, warning, err := files.ReadKey(file)
		if made && errors.Is(err, fs.ErrNotExist) {
			return newSecretKey(file)
		}
		if err != nil {
			return nil, fmt.Errorf("read the secret key: %w", err)
		}
		if warning != "" {
			r.Note(warning)
		}
		if len(strings.TrimSpace(string(content))) == 0 {
			return nil, fmt.Errorf("%s is empty: it must contain 16 random bytes in base64; restore it from a backup, because the secrets were encrypted with its key", file)
		}
		return readKeys(file, strings.Split(strings.TrimSpace(string(content)), "\n")...)
	}
	return readKeys(source, text)
}

// readKeys reads keys that a user provided.
func readKeys(source string, texts ...string) (keys [][]byte, err error) {
	for _, text := range texts {
		key, err := readKey(source, text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// readKey reads a key that a user provided.
func readKey(source, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != 16 {
		return nil, fmt.Errorf("%s must be base64 of 16 random bytes: generate it with `head -c 16 /dev/urandom | base64`", source)
	}
	return key, nil
}

func newSecretKey(file string) ([][]byte, error) {
	key := make([]byte, 16)
	rand.Read(key) // never fails
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("store the secret key: %w", err)
	}
	return [][]byte{key}, nil
}
