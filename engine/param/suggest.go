package param

import "strings"

// Suggest returns the candidates that key may be a misspelling of, in order: at most half of a candidate's letters
// differ (Digdag's rule), or two neighboring letters are swapped.
func Suggest(key string, candidates []string) []string {
	var near []string
	for _, c := range candidates {
		if limit := len(c) / 2; len(key)-len(c) <= limit && (swapped(key, c) || distance(key, c, false) <= limit) {
			near = append(near, c)
		}
	}
	return near
}

// swapped reports whether two words differ only by two swapped neighboring letters, the most common typo of all.
func swapped(a, b string) bool {
	return len(a) == len(b) && distance(a, b, false) == 2 && distance(a, b, true) == 1
}

// distance counts the insertions, deletions and replacements that turn a into b; with exchanges, two swapped
// neighboring letters count as one, since they are one typo.
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

// longestWord is the maximum length of words that are compared: no key is longer.
const longestWord = 100

// Nearest returns the candidate for which key is most likely a typo: no more than a quarter of its letters differ, so
// that a user's own key is not mistaken for one; with three letters, two may be swapped. It returns "" if there is
// none, or if key is a candidate itself.
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

// DidYouMean formats the candidates that key may be a misspelling of as a question, "" if there are none.
func DidYouMean(key string, candidates []string) string {
	if near := Suggest(key, candidates); len(near) > 0 {
		return Asked(near...)
	}
	return ""
}

// Asked formats names as a question.
func Asked(near ...string) string { return "did you mean [" + strings.Join(near, ", ") + "]?" }
