package keys

import (
	"slices"

	"zerodag/engine/param"
)

// Misspelling is the question whether key is a misspelling of one that is known where it stands, or that the gate would add there;
// then remedy says how that one is put to use. A key that means something at another place is no misspelling.
func Misspelling(key string, known []string, level int, at Where) (question, remedy string) {
	if _, isAdded := Find(key); isAdded || slices.Contains(TaskKeys(), key) {
		return "", ""
	}
	if near := BehindGate(key, known, at); level == 0 && near != "" {
		return param.Asked(near), GateHint(near)
	}
	return param.DidYouMean(key, known), ""
}

// BehindGate is the key which key of a file without the gate is most likely a slip of, if it is one that the gate would add
// there. A known key that is as near goes before it, as an old file hardly means a new key.
func BehindGate(key string, known []string, at Where) string {
	near := param.Nearest(key, slices.Concat(known, Added(at)))
	if slices.Contains(known, near) || Ungated(near) == "" {
		return ""
	}
	return near
}
