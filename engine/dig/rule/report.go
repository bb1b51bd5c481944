package rule

// Report receives a mistake in a value: the keys below it that lead there, the message and the hint.
type Report = func(below []string, message, hint string)

// Schema is a part of a JSON Schema, draft 7.
type Schema = map[string]any

// Meaning returns the description of a keyword in the language's documentation.
type Meaning = func(word string) string
