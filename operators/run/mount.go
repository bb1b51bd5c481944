package run

import (
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// SecretStore provides a project's secrets by dotted key: the project's own, then secrets that its site shares with all
// projects.
type SecretStore interface {
	// Secret returns a value and whether it exists.
	Secret(key string) (string, bool, error)
}

// mounted holds the secrets as a task sees them: `_secrets` maps keys to other keys.
type mounted struct {
	store  SecretStore
	mounts *param.Map
	given  map[string]string // secrets given to the task, by their stored key
}

// Given returns the secrets that the task has been given so far.
func (m mounted) Given() map[string]string { return m.given }

func (m mounted) read(key string) (string, bool, error) {
	value, found, err := m.store.Secret(key)
	if found {
		m.given[key] = value
	}
	return value, found, err
}

// Get follows `_secrets` (language.md 1.11) and reads the secret.
func (m mounted) Get(key string) (string, bool, error) {
	real, err := m.resolve(key)
	if err != nil {
		return "", false, err
	}
	return m.read(real)
}

// GetUnmounted reads the key as written.
func (m mounted) GetUnmounted(key string) (string, bool, error) {
	if err := checkSecretKey(key); err != nil {
		return "", false, err
	}
	return m.read(key)
}

func (m mounted) resolve(key string) (string, error) {
	if err := checkSecretKey(key); err != nil {
		return "", err
	}
	segments := strings.Split(key, ".")
	tree := m.mounts
	for i, segment := range segments {
		v, ok := tree.Get(segment)
		if !ok {
			return key, nil
		}
		switch x := v.(type) {
		case *param.Map:
			tree = x
		case string:
			return strings.Join(append([]string{x}, segments[i+1:]...), "."), nil
		case bool:
			if x {
				return key, nil // the old way to grant a secret: allowed, but without effect
			}
			return "", param.Errorf("Illegal value in _secrets: %s", param.Text(v))
		default:
			return "", param.Errorf("Illegal value in _secrets: %s", param.Text(v))
		}
	}
	return key, nil
}

func checkSecretKey(key string) error {
	if key == "" || strings.Contains(key, "*") {
		return operators.Faultf("illegal argument", "Invalid secret key: '%s'", key)
	}
	for segment := range strings.SplitSeq(key, ".") {
		if segment == "" {
			return operators.Faultf("illegal argument", "Invalid secret key: '%s'", key)
		}
	}
	return nil
}
