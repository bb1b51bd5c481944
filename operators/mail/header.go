package mail

import (
	"encoding/base64"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestWord is the maximum length of a header word that is not encoded. RFC 5322 recommends lines of 78 characters,
// and the name of the header or the mailbox may share the line.
const longestWord = 60

// headerText returns a string as the value of a header: unchanged, or in encoded words (RFC 2047). Line breaks and
// other control characters become spaces, so that external text, such as an error message, cannot add headers.
func headerText(text string) string {
	text = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ReplaceAll(text, "\r\n", "\n")))
	if foldable(text) {
		return text
	}
	return encodedWords(text)
}

// foldable reports whether a string can be folded at its spaces without a change: it is ASCII, its words are short, and
// no two spaces are adjacent.
func foldable(text string) bool {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) || strings.Contains(text, "=?") {
		return false
	}
	for word := range strings.SplitSeq(text, " ") {
		if word == "" && text != "" || len(word) > longestWord {
			return false
		}
	}
	return true
}

// encodedWords writes any text in encoded words of at most 75 characters with a space between them.
func encodedWords(text string) string {
	const most = 45 // bytes, which are 60 characters in base64
	var words []string
	for _, piece := range pieces(strings.ToValidUTF8(text, "\ufffd"), most, utf8.RuneLen) {
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(piece))+"?=")
	}
	return strings.Join(words, " ")
}

// headerParameter writes a header parameter on a separate line, or on several lines if it is long (RFC 2231).
func headerParameter(name, value string) string {
	if plain := mime.FormatMediaType("a", map[string]string{name: value}); foldable(value) && len(plain) <= longestWord {
		return strings.Replace(plain, "a; ", ";\r\n ", 1)
	}
	width := func(c rune) int {
		if unescaped(c) {
			return 1
		}
		return len("%00") * utf8.RuneLen(c)
	}
	parts := pieces(strings.ToValidUTF8(value, "\ufffd"), longestWord-len(name), width)
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(";\r\n " + name)
		if len(parts) > 1 {
			fmt.Fprintf(&b, "*%d", i)
		}
		b.WriteString("*=")
		if i == 0 {
			b.WriteString("utf-8''")
		}
		for _, c := range []byte(part) {
			if unescaped(rune(c)) {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

// unescaped reports whether RFC 2231 allows a character unescaped. The RFC allows some others, but not every reader
// does.
func unescaped(c rune) bool {
	return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-._", c))
}

// pieces cuts a string between its characters into pieces of at most the given width.
func pieces(text string, most int, width func(rune) int) []string {
	var cut []string
	start, used := 0, 0
	for i, c := range text {
		if w := width(c); used+w > most && i > start {
			cut, start, used = append(cut, text[start:i]), i, w
		} else {
			used += w
		}
	}
	return append(cut, text[start:])
}
