package keys

import (
	"slices"

	"zerodag/engine/param"
)

// Misspelling returns a "did you mean" question if key looks like a misspelling of a key that is known in its place, or
// would be known with `zerodag: 1`; in the second case, remedy says how to enable that key. A key that has a meaning in
// another place is not a misspelling.
func Misspelling(key string, known []string, level int, at Where) (question, remedy string) {
	if _, isAdded := Find(key); isAdded || slices.Contains(TaskKeys(), key) {
		return "", ""
	}
	if near := BehindGate(key, known, at); level == 0 && near != "" {
		return param.Asked(near), GateHint(near)
	}
	return param.DidYouMean(key, known), ""
}

// BehindGate returns the key for which a key in a file without `zerodag: 1` is most likely a typo, if `zerodag: 1`
// would add it there. A known key that is equally similar takes precedence, since an existing file is unlikely to mean
// a new key.
func BehindGate(key string, known []string, at Where) string {
	near := param.Nearest(key, slices.Concat(known, Added(at)))
	if slices.Contains(known, near) || Ungated(near) == "" {
		return ""
	}
	return near
}
