package rule

// Report receives what is wrong with a value: the keys below it that lead there, and the remedy.
type Report = func(below []string, message, hint string)

// Schema is a part of a JSON Schema, draft 7.
type Schema = map[string]any

// Meaning returns what the pages of the language say of a word.
type Meaning = func(word string) string
