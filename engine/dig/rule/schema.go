package rule

import "zerodag/engine/param"

// SchemaOf returns a rule's schema: its keywords and the given additional ones.
func SchemaOf(meaning Meaning, required []string, more ...string) Schema {
	properties := Schema{}
	for _, word := range Words(more...) {
		properties[word] = Schema{}
		if word != "value" { // users write it anyway
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

// AnyOf returns a list of words as a schema's enum.
func AnyOf(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}
