package param

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// Types returns the types that a rule may require.
func Types() []string {
	return []string{"string", "integer", "number", "boolean", "array", "object"}
}

// AsType converts text to a value of the given type, and refuses values of other types. "" stands for any type.
func AsType(kind string, v Value) (Value, error) {
	text, isText := v.(string)
	if isText && kind != "string" && kind != "" {
		parsed, err := ParseJSON(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("must be of type %s: %q", kind, Shortened(text))
		}
		v = parsed
	}
	if x, isFloat := v.(float64); kind == "integer" && isFloat && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		v = int64(x)
	}
	if !isOfType(kind, v) {
		return nil, fmt.Errorf("must be of type %s: %s", kind, Shortened(Text(v)))
	}
	return v, nil
}

// isOfType reports whether a value is of a type. "" is any type.
func isOfType(kind string, v Value) bool {
	fits := true
	switch kind {
	case "string":
		_, fits = v.(string)
	case "integer", "number":
		switch v.(type) {
		case int64, *big.Int:
		case float64:
			fits = kind == "number"
		default:
			fits = false
		}
	case "boolean":
		_, fits = v.(bool)
	case "array":
		_, fits = v.([]Value)
	case "object":
		_, fits = v.(*Map)
	}
	return fits
}

// Shortened returns the beginning of a string for a message.
func Shortened(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}

// Sample returns the beginning of a value as text, for an error message: up to 500 characters.
func Sample(v Value) string {
	const most = 500
	r := []rune(Text(v))
	if len(r) > most {
		return string(r[:most]) + "..."
	}
	return string(r)
}
