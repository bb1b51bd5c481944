package keys

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// tagsKey is the key at the top of a file that holds words by which users find the workflow.
const tagsKey = "tags"

// Limits on tags and on the labels of attempts.
const (
	MostTags      = 20  // of a workflow, and labels of an attempt
	LongestLabel  = 200 // the characters in a tag's value
	labelNameForm = "1 to 64 letters, digits and . _ -"
)

const tagsForm = "write words, or a name and a value: `tags: [daily, {team: sales}]`"

var labelName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })

func tagsKeyOfFile() Key {
	return Key{
		Name: tagsKey, Where: AtTop,
		Doc:   "keywords to find the workflow and its sessions by",
		Check: checkTags,
		Schema: func(rule.Meaning) rule.Schema {
			tag := rule.Schema{"type": []any{"string", "number", "boolean"}}
			return rule.Schema{"type": "array", "minItems": 1, "maxItems": MostTags, "items": rule.Schema{"anyOf": []any{tag,
				rule.Schema{"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": tag}}}}
		},
	}
}

// TagsOf returns the tags of a workflow that is in its stored form, in order; a tag with a name and a value looks like
// "team=sales".
func TagsOf(config *param.Map) []string {
	if language, _ := Gate(config); language.Level == 0 {
		return nil
	}
	v, there := config.Get(tagsKey)
	if !there {
		return nil
	}
	return readTags(v, func([]string, string, string) {})
}

// checkTags requires words that users can search for.
func checkTags(_ string, v param.Value, report rule.Report) {
	readTags(v, report)
}

func readTags(v param.Value, report rule.Report) (tags []string) {
	list, ok := v.([]param.Value)
	if !ok || len(list) == 0 {
		report(nil, "'tags' must be a list of tags: "+param.Sample(v), tagsForm)
		return nil
	}
	if len(list) > MostTags {
		report(nil, fmt.Sprintf("a workflow may have at most %d tags, but has %d", MostTags, len(list)), "keep the tags that users search for")
		return nil
	}
	for _, v := range list {
		tag, below, fault := tagOf(v)
		switch {
		case fault != "":
			report(below, fault, tagsForm)
		case slices.Contains(tags, tag):
			report(below, "the tag "+tag+" appears twice", "remove one of them")
		default:
			tags = append(tags, tag)
		}
	}
	return tags
}

// tagOf reads one tag; below is the key of its name, if it has a value.
func tagOf(v param.Value) (tag string, below []string, fault string) {
	m, isPair := v.(*param.Map)
	if !isPair {
		text, ok := tagText(v)
		switch {
		case !ok:
			return "", nil, "a tag must be a string: " + param.Sample(v)
		case !labelName().MatchString(text):
			return "", nil, "a tag must have " + labelNameForm + ": " + param.Sample(v)
		}
		return text, nil, ""
	}
	if m.Len() != 1 {
		return "", m.Keys(), fmt.Sprintf("a tag must have one name and one value: %s", param.Sample(v))
	}
	name, v := m.At(0)
	below = []string{name}
	text, ok := tagText(v)
	if !ok {
		return "", below, fmt.Sprintf("the value of the tag '%s' must be a string: %s", name, param.Sample(v))
	}
	if strings.Contains(text, "${") {
		return "", below, fmt.Sprintf("${...} is not evaluated in the tag '%s': %s", name, param.Sample(v))
	}
	if fault := LabelFault(name, text); fault != "" {
		return "", below, "a tag's " + fault
	}
	return name + "=" + text, below, ""
}

// tagText converts text, a number or a boolean to text: how YAML types 2026 does not matter here.
func tagText(v param.Value) (string, bool) {
	switch v.(type) {
	case nil, *param.Map, []param.Value:
		return "", false
	}
	text, err := param.AsString(tagsKey, v)
	return text, err == nil
}

// LabelFault returns what is wrong with a label's name and value; "" if nothing.
func LabelFault(name, value string) string {
	switch {
	case !labelName().MatchString(name):
		return "name must have " + labelNameForm + ": " + rule.Shown(name)
	case value == "":
		return fmt.Sprintf("value of '%s' is empty", name)
	case utf8.RuneCountInString(value) > LongestLabel:
		return fmt.Sprintf("value of '%s' may have at most %d characters: %s", name, LongestLabel, rule.Shown(value))
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Sprintf("value of '%s' must not contain control characters: %s", name, rule.Shown(value))
	}
	return ""
}
