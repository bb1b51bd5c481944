package configuration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Reading records the first invalid value of a configuration, and which keys were read.
type Reading struct {
	Settings
	known     map[string]bool
	elsewhere map[string]bool // keys whose values name a place outside this machine
	Notes     []string        // warnings for the log
	Err       error           // the error about the first invalid value
}

// Reading returns a new Reading of the settings.
func (s Settings) Reading() *Reading {
	return &Reading{Settings: s, known: map[string]bool{}, elsewhere: map[string]bool{}}
}

// Text reads a string and trims it; it returns otherwise if the string is absent or empty.
func (r *Reading) Text(key, otherwise string) string {
	r.known[key] = true
	if v := strings.TrimSpace(r.Settings[key]); v != "" {
		return v
	}
	return otherwise
}

// List reads values that are separated by commas or spaces.
func (r *Reading) List(key string) []string {
	return strings.FieldsFunc(r.Text(key, ""), func(c rune) bool { return c == ',' || c == ' ' })
}

// Wrong records the error that the value of a key does not have the expected form.
func (r *Reading) Wrong(key, form string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("configuration key %s must be %s but is %q", key, form, r.Settings[key])
	}
}

// Number reads a whole number that is at least 0.
func (r *Reading) Number(key string, otherwise int) int {
	text := r.Text(key, "")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.Wrong(key, "a whole number")
	}
	return n
}

// Bool reads true or false, in upper or lower case.
func (r *Reading) Bool(key string, otherwise bool) bool {
	switch strings.ToLower(r.Text(key, "")) {
	case "":
		return otherwise
	case "true":
		return true
	case "false":
		return false
	}
	r.Wrong(key, "true or false")
	return false
}

// Port reads a port number, which may be 0.
func (r *Reading) Port(key string, otherwise int) int {
	n := r.Number(key, otherwise)
	if n > 65535 {
		r.Wrong(key, "a port, at most 65535,")
	}
	return n
}

// OneOf reads one of the given values, the first of which is the default.
func (r *Reading) OneOf(key string, words ...string) string {
	v := r.Text(key, words[0])
	if !slices.Contains(words, v) {
		r.Wrong(key, strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
	return v
}

// Seconds reads a number of seconds.
func (r *Reading) Seconds(key string, otherwise time.Duration) time.Duration {
	return time.Duration(r.Number(key, int(otherwise/time.Second))) * time.Second
}

// Duration reads a duration such as "30s" or "1d 2h".
func (r *Reading) Duration(key string, otherwise time.Duration) time.Duration {
	text := r.Text(key, "")
	if text == "" {
		return otherwise
	}
	d, ok := param.ParseDuration(text)
	if !ok {
		r.Wrong(key, `a duration like "30s", "10m" or "1d"`)
	}
	return d
}

// Forever is the value of a setting for data that is never removed.
const Forever = "forever"

// Keep reads how long data is kept: a duration, or 0 for Forever.
func (r *Reading) Keep(key string, otherwise time.Duration) time.Duration {
	text := r.Text(key, "")
	switch text {
	case "":
		return otherwise
	case Forever:
		return 0
	}
	d, ok := param.ParseDuration(text)
	if !ok || d == 0 {
		r.Wrong(key, `a duration like "90d", or "`+Forever+`"`)
	}
	return d
}

// Here reads where some data is stored. Only the given choices, which are on this machine, have an effect. If the
// setting names any other place, the first choice is used, and Unread lists the key.
func (r *Reading) Here(key string, choices ...string) string {
	v := r.Text(key, choices[0])
	if slices.Contains(choices, v) {
		return v
	}
	delete(r.known, key)
	r.elsewhere[key] = true
	return choices[0]
}

// Note adds warnings for the log.
func (r *Reading) Note(texts ...string) { r.Notes = append(r.Notes, texts...) }

// Fail records an error unless an earlier one exists.
func (r *Reading) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Known returns the keys that have been read so far, sorted.
func (r *Reading) Known() []string { return slices.Sorted(maps.Keys(r.known)) }

// Tree reads all keys below a prefix; the result contains their names without the prefix.
func (r *Reading) Tree(prefix string) map[string]string {
	found := map[string]string{}
	for key, v := range r.Settings {
		if rest, ok := strings.CutPrefix(key, prefix); ok && rest != "" {
			r.known[key] = true
			found[rest] = v
		}
	}
	return found
}

// Unread returns the keys that were not read and so have no effect here, sorted, for display.
func (r *Reading) Unread() []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		client := strings.HasPrefix(key, "client.") || strings.HasPrefix(key, "params.") || strings.HasPrefix(key, "secrets.")
		switch {
		case r.elsewhere[key]:
			list = append(list, key+" = "+r.Settings[key]+" (it is kept on this machine)")
		case !r.known[key] && !client:
			list = append(list, key)
		}
	}
	return list
}

// Size reads a number of bytes as docker writes it, such as 512m; 0 if the key is absent.
func (r *Reading) Size(key string) int64 {
	text := r.Text(key, "")
	if text == "" {
		return 0
	}
	n, err := operators.ParseSize(text)
	if err != nil {
		r.Wrong(key, "a size with its unit like 512m or 2g")
	}
	return n
}
