package operators

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// SecretForm matches `${name:key}` as operators see it after evaluation: shortest match, even across line breaks
// (language.md 1.11).
func SecretForm() *regexp.Regexp { return secretForm() }

var secretForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\$\{(.*?):(.+?)\}`) })

// References identify the references to secrets that a project wrote, and replace only those: anything in data that
// looks like one is not replaced.
type References interface {
	// Replace replaces the references that were written in text.
	Replace(text string, secret func(key string) (string, error)) (string, error)
	// ReplacePart does so in a part of text, for the references that occur in text.
	ReplacePart(text, part string, secret func(key string) (string, error)) (string, error)
}

func (t *Task) replace(text string, secret func(key string) (string, error)) (string, error) {
	if t.References == nil {
		return ReplaceForm(SecretForm(), text, nil, secret)
	}
	return t.References.Replace(text, secret)
}

// SecretText expects the parameter, or the result of Template, itself: a copy of the text does not count as written. It
// replaces every `${secret:key}` that was written in text with the secret, literally; references in data are not
// replaced. Anything else of the form `${name:...}` is a ConfigError if it was written, including the shell's
// `${x:-y}`: a command that silently differs from the written one is worse than a refused command.
func (t *Task) SecretText(text string) (string, error) {
	return t.replace(text, t.RequireSecret)
}

// SecretPart is like SecretText, for a part that was parsed from a whole, such as JSON or YAML: references that were
// written in the whole count.
func (t *Task) SecretPart(whole, part string) (string, error) {
	if t.References == nil {
		return ReplaceForm(SecretForm(), part, nil, t.RequireSecret)
	}
	return t.References.ReplacePart(whole, part, t.RequireSecret)
}

// HasSecret reports whether text refers to a secret, so that it must not be logged.
func HasSecret(text string) bool { return SecretForm().MatchString(text) }

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
		return "", MissingSecret(key, Faultf("secret not found", "Secret not found for key: '%s'", key))
	}
	return value, nil
}

// MissingSecret marks an error as caused by a missing secret, and names its key: no `_retry` retries it, whether it is
// the task's own or belongs to a group around it.
func MissingSecret(key string, err error) error { return &missingSecret{err, key} }

type missingSecret struct {
	error
	key string
}

func (m *missingSecret) Unwrap() error { return m.error }

// MissingKey returns the key of the missing secret if an error is about one.
func MissingKey(err error) (key string, missing bool) {
	var m *missingSecret
	if !errors.As(err, &m) {
		return "", false
	}
	return m.key, true
}

// ReplaceForm replaces references to secrets that match the form, and are among the known ones unless known is nil.
func ReplaceForm(form *regexp.Regexp, text string, known map[string]bool, secret func(key string) (string, error)) (string, error) {
	matches := form.FindAllStringSubmatchIndex(text, -1)
	matches = slices.DeleteFunc(matches, func(m []int) bool { return known != nil && !known[text[m[0]:m[1]]] })
	for _, m := range matches {
		if strings.TrimSpace(text[m[2]:m[3]]) != "secret" {
			return "", param.Errorf("Invalid parametrization: '${%s'", text[m[2]:m[1]])
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
