package param

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ConfigError reports a mistake in a project's files: the task fails without an operator-level retry and its message
// ends in "(config)".
type ConfigError struct{ Message string }

// Error returns the message unchanged.
func (e *ConfigError) Error() string { return e.Message }

// ErrorKind returns the word that users see after the message.
func (e *ConfigError) ErrorKind() string { return "config" }

// Errorf returns a ConfigError.
func Errorf(format string, args ...any) error {
	return &ConfigError{Message: fmt.Sprintf(format, args...)}
}

// The As functions read one value as a type, with the coercions and messages of
// language.md 1.13: numbers from numeric text, booleans from "true", "false"
// and "", text from numbers and booleans. key is only for the message.

// AsString reads text; numbers and booleans become text.
func AsString(key string, v Value) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case Literal:
		return string(x), nil
	case bool, int64, *big.Int, float64:
		return strings.Trim(Text(x), `"`), nil
	}
	return "", mismatch("string type", key, v)
}

// AsInt reads a whole number; numeric text is parsed, and fractions of numbers are cut off. Empty text is 0, as in
// Digdag: `loop>: ${n}` with an empty n.
func AsInt(key string, v Value) (int64, error) {
	switch x := v.(type) {
	case int64:
		return x, nil
	case float64:
		if math.Abs(x) < 1<<62 {
			return int64(x), nil
		}
	case string:
		t := strings.TrimSpace(x)
		if t == "" || t == "null" {
			return 0, nil
		}
		if n, err := strconv.ParseInt(t, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, mismatch("integer (int) type", key, v)
}

// AsBool reads a boolean: true, false, their text forms, numbers (0 is false) and empty text, which an expression
// without a value returns, and which is false.
func AsBool(key string, v Value) (bool, error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case int64:
		return x != 0, nil
	case *big.Int:
		return x.Sign() != 0, nil
	case string:
		switch strings.TrimSpace(x) {
		case "true", "True":
			return true, nil
		case "false", "False", "", "null":
			return false, nil
		}
	}
	return false, mismatch("'true' or 'false'", key, v)
}

// AsWhole is AsInt, but refuses a number with a fraction, which AsInt cuts off.
func AsWhole(key string, v Value) (int64, error) {
	if x, ok := v.(float64); ok && x != math.Trunc(x) {
		return 0, mismatch("integer (int) type", key, v)
	}
	return AsInt(key, v)
}

// AsYes is AsBool, but refuses numbers; AsBool takes every number but 0 as true.
func AsYes(key string, v Value) (bool, error) {
	switch v.(type) {
	case bool, string:
		return AsBool(key, v)
	}
	return false, mismatch("'true' or 'false'", key, v)
}

// AsCondition reads a condition: a boolean as in AsBool, or numeric text, which an expression with a number returns; 0
// is false.
func AsCondition(key string, v Value) (bool, error) {
	if v == nil {
		return false, nil
	}
	on, err := AsBool(key, v)
	if text, ok := v.(string); ok && err != nil {
		if n, notNumber := strconv.ParseFloat(strings.TrimSpace(text), 64); notNumber == nil {
			return n != 0, nil
		}
	}
	return on, err
}

// AsMap reads a mapping.
func AsMap(key string, v Value) (*Map, error) {
	if m, ok := v.(*Map); ok {
		return m, nil
	}
	return nil, Errorf("Parameter '%s' must be an object", key)
}

// AsList reads a list.
func AsList(key string, v Value) ([]Value, error) {
	if l, ok := v.([]Value); ok {
		return l, nil
	}
	return nil, mismatch("array type", key, v)
}

// ParseMap reads a mapping, or a mapping as JSON, since `${...}` can only produce text.
func ParseMap(key string, v Value) (*Map, error) {
	if m, ok := parsed(v).(*Map); ok {
		return m, nil
	}
	return nil, Errorf("Parameter '%s' must be an object or JSON text of one, but got %s", key, sampleOf(v))
}

// ParseList reads a list, or a list as JSON.
func ParseList(key string, v Value) ([]Value, error) {
	if l, ok := parsed(v).([]Value); ok {
		return l, nil
	}
	return nil, mismatch("array type", key, v)
}

func parsed(v Value) Value {
	if s, ok := v.(string); ok {
		if p, err := ParseJSON(s); err == nil {
			return p
		}
	}
	return v
}

// sampleLength is how much of an invalid value a message shows.
const sampleLength = 100

func mismatch(want, key string, v Value) error {
	return Errorf("Expected %s for key '%s' but got %s", want, key, sampleOf(v))
}

// sampleOf returns the beginning of an invalid value, and its kind.
func sampleOf(v Value) string {
	sample := []rune(Text(v))
	if len(sample) > sampleLength {
		sample = append(sample[:sampleLength-3], []rune("...")...)
	}
	return string(sample) + " (" + KindOf(v) + ")"
}

// KindOf names the JSON type of a value, as messages show it.
func KindOf(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string, Literal:
		return "string"
	case []Value:
		return "array"
	case *Map:
		return "object"
	}
	return "number"
}
