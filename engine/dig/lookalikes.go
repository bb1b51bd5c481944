package dig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"zerodag/engine/dig/letters"
)

// lookAlikes finds characters in places that need the ASCII characters they resemble. Multi-line text, quoted text and
// comments may contain anything.
func lookAlikes(file string, text []byte) (found Errors) {
	block := -1 // indentation of the key whose multi-line text is skipped
	for n, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		body := strings.TrimLeft(line, " \t")
		indent := len(line) - len(body)
		if body == "" || block >= 0 && indent > block {
			continue
		}
		block = -1
		if at, twin, where := letters.Find(body); at >= 0 && !strings.HasPrefix(body, "#") {
			found = append(found, Error{File: file, Line: n + 1, Column: 1 + utf8.RuneCountInString(line[:indent+at]),
				Message: fmt.Sprintf("line %d has %s %s", n+1, letters.NameOf(twin), where), Hint: letters.Remedy(twin)})
		}
		if letters.StartsText(body) {
			block = indent
		}
	}
	return found
}

// explained replaces the errors of files with the look-alikes that caused them.
func explained(read Source, errs Errors) Errors {
	var files []string
	for _, e := range errs {
		if e.File != "" && !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	for _, file := range files {
		text, err := read(file)
		if err != nil {
			continue
		}
		if found := lookAlikes(file, text); len(found) > 0 {
			errs = append(slices.DeleteFunc(slices.Clone(errs), func(e Error) bool { return e.File == file }), found...)
		}
	}
	return errs
}
