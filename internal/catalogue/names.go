package catalogue

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// maxName is the maximum length of names in characters (limits.json).
const maxName = 255

// CheckNames refuses invalid project and revision names. A downloaded project becomes a folder with its name.
func (r PushRequest) CheckNames() error {
	if err := checkName("project", r.Project); err != nil {
		return err
	}
	if err := checkName("revision", r.Revision); err != nil {
		return err
	}
	return checkPath(r.Project)
}

// CheckProjectName refuses names that no project can have.
func CheckProjectName(name string) error {
	if err := checkName("project", name); err != nil {
		return err
	}
	return checkPath(name)
}

// checkPath refuses project names that cannot be part of a path.
func checkPath(project string) error {
	if project == "." || project == ".." || strings.ContainsRune(project, '/') {
		return host.Invalidf("Invalid project name %q: it must not be . or .. and must not contain a slash", project)
	}
	return nil
}

func checkName(what, name string) error {
	if name == "" {
		return host.Invalidf("%s= is required", what)
	}
	if fault := faultOf(name); fault != "" {
		return host.Invalidf("Validating %s failed\nname must not %s: %q", what, fault, name)
	}
	return nil
}

// CheckRetryName refuses attempt names that Digdag refuses, and unprintable ones.
func CheckRetryName(name string) error {
	const failed = "Validating attempt request failed\nretry attempt name must not "
	if strings.TrimSpace(name) == "" {
		return host.Invalidf(failed+"be blank: %q", name)
	}
	if fault := faultOf(name); fault != "" {
		return host.Invalidf(failed+"%s: %q", fault, name)
	}
	return nil
}

// CheckLabels refuses invalid attempt labels.
func CheckLabels(labels *param.Map) error {
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

// CheckTokenName refuses token names that cannot be shown on one line.
func CheckTokenName(name string) error {
	if fault := faultOf(name); fault != "" {
		return host.Invalidf("Invalid token name: it must not %s: %q", fault, name)
	}
	return nil
}

// faultOf describes the problem with a name, "" if there is none. Names are written to logs, tables and terminals, so
// none of their characters may move a cursor, end a line or reverse its order.
func faultOf(name string) string {
	switch {
	case utf8.RuneCountInString(name) > maxName:
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
