package aws

import (
	"strings"

	"zerodag/engine/param"
)

// AsJSON reads an event or an input as JSON. Text that is a JSON mapping or list is not quoted again, since `${...}` in
// a mapping always turns numbers into text.
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
