package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Limits on how much of a message body is shown: total bytes, elements of a list, and characters of a string.
const (
	mostShown    = 64 << 10
	mostElements = 50
	mostLetters  = 256
)

// shownFields returns the parts of a message that identify its subject. All other parts are values that tasks received
// or stored, and may contain data derived from a secret.
func shownFields() []string {
	return []string{"v", "runs", "wait", "from", "unbegun", "then", "fire", "start", "site", "id", "run", "task", "d", "event", "results", "after", "guard",
		"blameless", "logs", "name", "named", "times", "time", "version", "project", "workflow", "session_time"}
}

// ShownBody returns the body of a message as JSON without values that tasks received, stored or printed: for those it
// shows only the size. Long lists and strings are truncated. It returns nil if the body is not a JSON object or was not
// written by zerodag.
func ShownBody(body []byte) json.RawMessage {
	var whole map[string]json.RawMessage
	if json.Unmarshal(body, &whole) != nil {
		return nil
	}
	text, err := json.Marshal(shownObject(whole, shownFields()))
	if err != nil {
		panic(fmt.Sprintf("console: encode a message: %v", err)) // cannot fail: the value was read from JSON
	}
	if len(text) > mostShown {
		return nil
	}
	return text
}

func shownObject(o map[string]json.RawMessage, fields []string) map[string]any {
	shown := map[string]any{}
	for key, v := range o {
		if slices.Contains(fields, key) {
			shown[key] = shownValue(v, fields)
		} else {
			shown[key] = fmt.Sprintf("(%d bytes, not shown)", len(v))
		}
	}
	return shown
}

func shownValue(v json.RawMessage, fields []string) any {
	v = bytes.TrimSpace(v)
	var object map[string]json.RawMessage
	if bytes.HasPrefix(v, []byte("{")) && json.Unmarshal(v, &object) == nil {
		return shownObject(object, fields)
	}
	var list []json.RawMessage
	if bytes.HasPrefix(v, []byte("[")) && json.Unmarshal(v, &list) == nil {
		shown := []any{}
		for _, e := range list[:min(len(list), mostElements)] {
			shown = append(shown, shownValue(e, fields))
		}
		if more := len(list) - mostElements; more > 0 {
			shown = append(shown, fmt.Sprintf("(%d more)", more))
		}
		return shown
	}
	var text string
	if json.Unmarshal(v, &text) == nil && len(text) > mostLetters {
		return fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8([]byte(text[:mostLetters]), nil), len(text))
	}
	return v
}
