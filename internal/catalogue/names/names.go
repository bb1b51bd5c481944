// Package names checks the names that users choose for projects, revisions, attempts, labels, pools and tokens, and the
// reasons that they give for a pause.
//
// Every function that accepts such text calls it. It must not read a store.
package names

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// longest is the maximum length of names in characters (limits.json).
const longest = 255

// Project refuses names that no project can have. A downloaded project becomes a folder with its name.
func Project(name string) error {
	if err := Check("project", name); err != nil {
		return err
	}
	if name == "." || name == ".." || strings.ContainsRune(name, '/') {
		return host.Invalidf("Invalid project name %q: it must not be . or .. and must not contain a slash", name)
	}
	return nil
}

// Check refuses an empty or unprintable name. what is the query parameter or field that contains it.
func Check(what, name string) error {
	if name == "" {
		return host.Invalidf("%s= is required", what)
	}
	if fault := faultOf(name); fault != "" {
		return host.Invalidf("Validating %s failed\nname must not %s: %q", what, fault, name)
	}
	return nil
}

// Retry refuses attempt names that Digdag refuses, and unprintable ones.
func Retry(name string) error {
	const failed = "Validating attempt request failed\nretry attempt name must not "
	if strings.TrimSpace(name) == "" {
		return host.Invalidf(failed+"be blank: %q", name)
	}
	if fault := faultOf(name); fault != "" {
		return host.Invalidf(failed+"%s: %q", fault, name)
	}
	return nil
}

// Labels refuses invalid attempt labels.
func Labels(labels *param.Map) error {
	if n := labels.Len(); n > keys.MostTags {
		return host.Invalidf("An attempt may have at most %d labels, not %d", keys.MostTags, n)
	}
	for name, v := range labels.All() {
		text, ok := v.(string)
		if !ok {
			return host.Invalidf("The value of the label '%s' must be a string: %s", name, param.Shortened(param.Text(v)))
		}
		if fault := keys.LabelFault(name, text); fault != "" {
			return host.Invalidf("A label's %s", fault)
		}
	}
	return nil
}

// Token refuses token names that cannot be shown on one line.
func Token(name string) error {
	if fault := faultOf(name); fault != "" {
		return host.Invalidf("Invalid token name: it must not %s: %q", fault, name)
	}
	return nil
}

var poolForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`) })

// Pool refuses invalid pool names.
func Pool(name string) error {
	if !poolForm().MatchString(name) {
		return host.Invalidf("Invalid pool name: %q: use 1 to 100 letters, digits and - _ . and begin with a letter or digit", name)
	}
	return nil
}

// MostReason is the maximum length of the reason for a pause, in characters.
const MostReason = 1000

// Reason refuses a reason for a pause that is too long or cannot be shown on one line.
func Reason(reason string) error {
	if n := len([]rune(reason)); n > MostReason {
		return host.Invalidf("A reason may have at most %d characters, but this one has %d", MostReason, n)
	}
	if strings.ContainsFunc(reason, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return host.Invalidf("A reason must be one line of text without control characters: %q", reason)
	}
	return nil
}

// faultOf describes the problem with a name, "" if there is none. Names are written to logs, tables and terminals, so
// none of their characters may move a cursor, end a line or reverse its order.
func faultOf(name string) string {
	switch {
	case utf8.RuneCountInString(name) > longest:
		return "be longer than 255 characters"
	case !utf8.ValidString(name):
		return "contain bytes that are not UTF-8"
	case strings.ContainsFunc(name, isUnprintable):
		return "contain control characters"
	}
	return ""
}

func isUnprintable(c rune) bool {
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' || c == '\u2029'
}
