package aws

import (
	"strings"

	"zerodag/engine/param"
)

// AsJSON reads an event or an input as JSON text. Text that is a JSON mapping or list stays
// what it says, since `${...}` in a mapping always makes text of a number.
func AsJSON(_ string, v param.Value) (string, error) {
	if text, isText := v.(string); isText {
		if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
			if _, err := param.ParseJSON(t); err == nil {
				return t, nil
			}
		}
	}
	return param.Text(v), nil
}
