package dig

import (
	"strings"

	"zerodag/engine/param"
)

// didYouMean renders the candidates that key may be a misspelling of as a question,
// "" when there is none.
func didYouMean(key string, candidates []string) string {
	if near := param.Suggest(key, candidates); len(near) > 0 {
		return "did you mean [" + strings.Join(near, ", ") + "]?"
	}
	return ""
}
