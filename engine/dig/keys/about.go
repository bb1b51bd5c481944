package keys

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Keys at the top of a file that describe what the workflow is for and who is responsible for it.
const (
	descriptionKey = "description"
	ownerKey       = "owner"
)

// Maximum lengths in characters.
const (
	LongestDescription = 4000
	LongestOwner       = 200
)

func ownerKeyOfFile() Key {
	return aboutKey(ownerKey, "whom to contact about the workflow", LongestOwner)
}

func descriptionKeyOfFile() Key {
	return aboutKey(descriptionKey, "what the workflow is for", LongestDescription)
}

func aboutKey(name, doc string, longest int) Key {
	return Key{
		Name: name, Where: AtTop,
		Doc:   doc,
		Check: checkAbout,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": "string", "minLength": 1, "maxLength": longest}
		},
	}
}

// DescriptionOf returns a workflow's description from its file; "" if it has none.
func DescriptionOf(config *param.Map) string { return aboutOf(config, descriptionKey) }

// OwnerOf returns a workflow's owner from its file; "" if it names none.
func OwnerOf(config *param.Map) string { return aboutOf(config, ownerKey) }

func aboutOf(config *param.Map, key string) string {
	if language, _ := Gate(config); language.Level == 0 {
		return ""
	}
	text, _ := config.Value(key).(string)
	return strings.TrimSpace(text)
}

// checkAbout requires text for users. A description may have several lines.
func checkAbout(key string, v param.Value, report rule.Report) {
	most, line := LongestOwner, "`owner: data team <data@example.com>`"
	if key == descriptionKey {
		most, line = LongestDescription, "`description: Loads the sales of the day`"
	}
	hint := "write a string, as in " + line
	text, ok := v.(string)
	text = strings.TrimSpace(text)
	isControl := func(r rune) bool {
		return unicode.IsControl(r) && !(key == descriptionKey && (r == '\n' || r == '\t'))
	}
	switch {
	case !ok || text == "":
		report(nil, fmt.Sprintf("'%s' must be a string: %s", key, param.Sample(v)), hint)
	case utf8.RuneCountInString(text) > most:
		report(nil, fmt.Sprintf("'%s' may have at most %d characters, but has %d", key, most, utf8.RuneCountInString(text)), "shorten it")
	case strings.Contains(text, "${"):
		report(nil, fmt.Sprintf("${...} is not evaluated in '%s': %s", key, param.Sample(v)), hint)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		report(nil, fmt.Sprintf("'%s' must not contain control characters: %s", key, param.Sample(v)), hint)
	}
}
