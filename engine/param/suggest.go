package param

import "strings"

// Suggest returns the candidates that key may be a misspelling of, in their order: at
// most half of a candidate's letters may differ (the original's rule), or two neighbours changed places.
func Suggest(key string, candidates []string) []string {
	var near []string
	for _, c := range candidates {
		if limit := len(c) / 2; len(key)-len(c) <= limit && (swapped(key, c) || distance(key, c, false) <= limit) {
			near = append(near, c)
		}
	}
	return near
}

// swapped says whether two words differ by two neighbours alone that changed places, the most common slip of all.
func swapped(a, b string) bool {
	return len(a) == len(b) && distance(a, b, false) == 2 && distance(a, b, true) == 1
}

// distance counts the insertions, deletions and replacements that turn a into b; with exchanges, two neighbours that
// changed places are one, as they are one slip of a hand.
func distance(a, b string, exchanges bool) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, row[j+1]+1, next[j]+1)
			if exchanges && i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// longestWord is the length of a word that is compared: no key that people mistype is longer.
const longestWord = 100

// Nearest returns the candidate that key is most likely a slip of: no more than a quarter of its
// letters differ, so that a key of the user's own is none; of one with three letters two may have changed places. "" when there
// is none, or when key is a candidate itself.
func Nearest(key string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		if c == key {
			return ""
		}
		if len(c) == 3 && best == "" && swapped(key, c) {
			best, least = c, 1
		}
		if len(c) < 4 || len(c) > longestWord || len(key) > len(c)+len(c)/4 || len(key) < len(c)-len(c)/4 {
			continue
		}
		if d := distance(key, c, true); d <= len(c)/4 && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean renders the candidates that key may be a misspelling of as a question,
// "" when there is none.
func DidYouMean(key string, candidates []string) string {
	if near := Suggest(key, candidates); len(near) > 0 {
		return Asked(near...)
	}
	return ""
}

// Asked renders names as a question.
func Asked(near ...string) string { return "did you mean [" + strings.Join(near, ", ") + "]?" }
