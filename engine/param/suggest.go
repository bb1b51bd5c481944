package param

// Suggest returns the candidates that key may be a misspelling of, in their order: at
// most half of a candidate's letters may differ (the original's rule).
func Suggest(key string, candidates []string) []string {
	var near []string
	for _, c := range candidates {
		if limit := len(c) / 2; len(key)-len(c) <= limit && distance(key, c) <= limit {
			near = append(near, c)
		}
	}
	return near
}

// distance counts the insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the candidate that key is most likely a slip of: no more than a quarter of its
// letters differ, so that a key of the user's own is none. "" when there is none, or when key is
// a candidate itself.
func Nearest(key string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		if c == key {
			return ""
		}
		d := distance(key, c)
		if len(c) >= 4 && d <= len(c)/4 && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}
