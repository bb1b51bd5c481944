package operators

import (
	"fmt"
	"regexp"
	"strings"

	"zerodag/engine/param"
)

// secretForm is `${name:key}` as operators see it after evaluation: shortest texts,
// over line ends as well (spec language.md 1.11).
var secretForm = regexp.MustCompile(`(?s)\$\{(.*?):(.+?)\}`)

// SecretText replaces every `${secret:key}` in text by the secret, literally. Anything
// else of the form `${name:...}` is a ConfigError, shell's `${x:-y}` included: a command
// that silently differs from what was written is worse than one that is refused.
func (t *Task) SecretText(text string) (string, error) {
	return replaceSecrets(text, t.RequireSecret)
}

// HasSecret says whether text refers to a secret, so that it must not be logged.
func HasSecret(text string) bool { return secretForm.MatchString(text) }

// RequireSecret returns a secret; a missing one fails the task.
func (t *Task) RequireSecret(key string) (string, error) {
	return required(key, t.Secrets.Get)
}

func required(key string, get func(string) (string, bool, error)) (string, error) {
	value, found, err := get(key)
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", key, err)
	}
	if !found {
		return "", Faultf("secret not found", "Secret not found for key: '%s'", key)
	}
	return value, nil
}

func replaceSecrets(text string, secret func(key string) (string, error)) (string, error) {
	matches := secretForm.FindAllStringSubmatchIndex(text, -1)
	for _, m := range matches {
		if strings.TrimSpace(text[m[2]:m[3]]) != "secret" {
			return "", param.Errorf("Invalid parametrization: '%s'", text[m[0]:m[1]])
		}
	}
	var out strings.Builder
	from := 0
	for _, m := range matches {
		value, err := secret(strings.TrimSpace(text[m[4]:m[5]]))
		if err != nil {
			return "", err
		}
		out.WriteString(text[from:m[0]])
		out.WriteString(value)
		from = m[1]
	}
	return out.String() + text[from:], nil
}
