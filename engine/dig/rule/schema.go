package rule

import "zerodag/engine/param"

// SchemaOf is what may be said of a value: the words of a rule, and some more.
func SchemaOf(meaning Meaning, required []string, more ...string) Schema {
	properties := Schema{}
	for _, word := range Words(more...) {
		properties[word] = Schema{}
		if word != "value" { // which is what a user writes anyway
			properties[word] = Schema{"description": meaning(word)}
		}
	}
	properties["type"].(Schema)["enum"] = AnyOf(param.Types())
	properties["format"].(Schema)["enum"] = AnyOf(Formats())
	properties["description"] = Schema{"type": "string"}
	s := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = AnyOf(required)
	}
	return s
}

// AnyOf is a list of words as the enum of a schema.
func AnyOf(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}
