package localsecret

import (
	"strings"

	"zerodag/internal/program"
)

// Text returns a secret's value, given the text of a file or of stdin. If the program is called digdag, it keeps every
// byte.
func Text(text []byte) string {
	if program.AsDigdag() {
		return string(text)
	}
	return secretLine(string(text))
}

// secretLine drops the line end of a single-line value: editors and `echo` write it, and no password contains it. A
// multi-line value, such as a PEM key, stays unchanged, because many programs need its last line end.
func secretLine(text string) string {
	line, rest, found := strings.Cut(text, "\n")
	if !found || rest != "" {
		return text
	}
	return strings.TrimSuffix(line, "\r")
}
