package dig

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/param"
)

// Keys at the top of a file by which people know what the workflow is for, and whom to ask about it.
const (
	descriptionKey = "description"
	ownerKey       = "owner"
)

// How many characters they have at most.
const (
	LongestDescription = 4000
	LongestOwner       = 200
)

// DescriptionOf is what a workflow is for, as its file says; "" where it says nothing.
func DescriptionOf(config *param.Map) string { return aboutOf(config, descriptionKey) }

// OwnerOf is whom to ask about a workflow, as its file says; "" where it says nothing.
func OwnerOf(config *param.Map) string { return aboutOf(config, ownerKey) }

func aboutOf(config *param.Map, key string) string {
	if language, _ := Gate(config); language.Level == 0 {
		return ""
	}
	text, _ := valueOf(config, key).(string)
	return strings.TrimSpace(text)
}

// checkAbout wants a text for people. A description may have several lines.
func checkAbout(key string, v param.Value, report func([]string, string, string)) {
	most, line := LongestOwner, "`owner: data team <data@example.com>`"
	if key == descriptionKey {
		most, line = LongestDescription, "`description: Loads the sales of the day`"
	}
	hint := "write a text, as in " + line
	text, ok := v.(string)
	text = strings.TrimSpace(text)
	isControl := func(r rune) bool {
		return unicode.IsControl(r) && !(key == descriptionKey && (r == '\n' || r == '\t'))
	}
	switch {
	case !ok || text == "":
		report(nil, fmt.Sprintf("'%s' must be a text: %s", key, sample(v)), hint)
	case utf8.RuneCountInString(text) > most:
		report(nil, fmt.Sprintf("'%s' may have %d characters at most: it has %d", key, most, utf8.RuneCountInString(text)), "shorten it")
	case strings.Contains(text, "${"):
		report(nil, fmt.Sprintf("${...} is not evaluated in '%s': %s", key, sample(v)), hint)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		report(nil, fmt.Sprintf("'%s' may have no control characters: %s", key, sample(v)), hint)
	}
}
