package remedy

import (
	"bytes"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// sameLetters reports whether two words differ only in the order of their letters.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// Near returns the candidate that a word most likely misspells or abbreviates, or "" if there is none.
func Near(word string, candidates []string) string {
	if near := param.Nearest(word, candidates); near != "" {
		return near
	}
	best := ""
	for _, c := range candidates {
		if c != word && (strings.EqualFold(c, word) || sameLetters(c, word)) {
			return c
		}
	}
	for _, c := range param.Suggest(word, candidates) {
		if len(c) >= 2 && c[:1] == word[:min(1, len(word))] && (best == "" || len(c) == len(word)) {
			best = c
		}
	}
	return best
}
