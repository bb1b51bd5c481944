package dig

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// didYouMean renders the candidates that key may be a misspelling of as a question,
// "" when there is none.
func didYouMean(key string, candidates []string) string {
	if near := param.Suggest(key, candidates); len(near) > 0 {
		return asked(near...)
	}
	return ""
}

func asked(near ...string) string { return "did you mean [" + strings.Join(near, ", ") + "]?" }

// slip is the question whether key is a misspelling of one that is known where it stands, or that the gate would add there;
// then remedy says how that one is put to use. A key that means something at another place is no misspelling.
func slip(key string, known []string, level int, at Where) (question, remedy string) {
	if _, isAdded := additionOf(key); isAdded || slices.Contains(TaskKeys(), key) {
		return "", ""
	}
	if near := behindGate(key, known, at); level == 0 && near != "" {
		return asked(near), gateHint(near)
	}
	return didYouMean(key, known), ""
}

// behindGate is the key which key of a file without the gate is most likely a slip of, if it is one that the gate would add
// there. A known key that is as near goes before it, as an old file hardly means a new key.
func behindGate(key string, known []string, at Where) string {
	near := param.Nearest(key, slices.Concat(known, AddedKeys(at)))
	if slices.Contains(known, near) || ungated(near) == "" {
		return ""
	}
	return near
}
