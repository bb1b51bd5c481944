package letters

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// StartsText reports whether a line starts a block of text, so that the indented lines below it are text.
func StartsText(body string) bool {
	_, value, found := strings.Cut(body, ": ")
	if !found {
		value = strings.TrimPrefix(body, "- ")
	}
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '|' && value[0] != '>' {
		return false
	}
	rest, _, _ := strings.Cut(value[1:], "#")
	return strings.Trim(rest, "+-0123456789 ") == ""
}

// Find returns the first look-alike or invisible character of a line without its indentation; -1 if there is none.
func Find(body string) (at int, c rune, where string) {
	first, size := utf8.DecodeRuneInString(body)
	if at, c := invisibleInKey(body); at >= 0 {
		return at, c, "in its key"
	}
	switch first {
	case IdeographicSpace, NoBreakSpace:
		return 0, first, "in its indentation"
	case '＃':
		return 0, first, "at the start of a comment"
	case '－':
		return 0, first, "at the start of a list item"
	case '＋', '“', '”', '„', '‘', '’':
		if first == '＋' || strings.ContainsAny(body[size:], ":：") {
			return 0, first, "at the start of a key"
		}
	}
	key := keyEnd(body)
	if key < 0 {
		return -1, 0, ""
	}
	end, width := utf8.DecodeRuneInString(body[key:])
	if end != ':' {
		return key, end, "in the key `" + body[:key] + "`"
	}
	return inValue(body, key+width)
}

// invisibleInKey returns an invisible character in the key at the beginning of a line; -1 for none.
func invisibleInKey(body string) (at int, c rune) {
	key, _, isKey := strings.Cut(body, ":")
	at = strings.IndexFunc(key, IsInvisible)
	if !isKey || at < 0 {
		return -1, 0
	}
	if keyEnd(Visible(key)+":") < 0 {
		return -1, 0
	}
	c, _ = utf8.DecodeRuneInString(key[at:])
	return at, c
}

// keyEnd returns where the name at the beginning of a line ends, at a colon or at a character that resembles one used
// in keys; -1 if the line does not begin with a key.
func keyEnd(body string) int {
	name := strings.TrimPrefix(body, "- ")
	start := len(body) - len(name)
	for i, c := range name {
		switch {
		case c == ':' && i > 0, i > 0 && strings.ContainsRune("：＞＿", c):
			return start + i
		case c > '~' || !strings.ContainsRune("+_->.$!{}", c) && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9'):
			return -1
		}
	}
	return -1
}

// inValue searches after the colon of a key.
func inValue(body string, from int) (at int, c rune, where string) {
	value := body[from:]
	trimmed := strings.TrimLeft(value, " \t")
	from += len(value) - len(trimmed)
	if trimmed == "" {
		return -1, 0, ""
	}
	first, size := utf8.DecodeRuneInString(trimmed)
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(trimmed, " \t"))
	switch {
	case first == NoBreakSpace || first == IdeographicSpace || IsInvisible(first):
		return from, first, "after the colon of a key"
	case strings.ContainsRune("“”„‘’", first) && strings.ContainsRune("“”‘’", last) && len(trimmed) > size:
		return from, first, "around a value, which makes it part of the value"
	case first == '｛', first == '［', first == '｜':
		return from, first, "at the start of a value"
	case strings.ContainsRune("\"'#|>", first):
		return -1, 0, ""
	}
	if i, c := falseComment(trimmed); i >= 0 {
		return from + i, c, "before a comment, which makes the comment part of the value"
	}
	if i, where := inBrackets(trimmed); i >= 0 && (first == '[' || first == '{') {
		c, _ := utf8.DecodeRuneInString(trimmed[i:])
		return from + i, c, where
	}
	return -1, 0, ""
}

// inBrackets searches a one-line list or mapping; -1 for none.
func inBrackets(value string) (at int, where string) {
	plain := withoutQuoted(value)
	if i := strings.IndexAny(plain, "，、：［］｛｝"); i >= 0 {
		return i, "within brackets"
	}
	if i := quoteInBrackets().FindStringSubmatchIndex(plain); i != nil {
		return i[2], "around a value, which makes it part of the value"
	}
	return -1, ""
}

// falseComment returns the position and the first character of text that looks like the beginning of a comment but is
// not; -1 for none.
func falseComment(text string) (int, rune) {
	for _, mark := range []string{"\u3000#", "\u00a0#", " ＃"} { // looks like a comment
		if i := strings.Index(text, mark); i >= 0 {
			c, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[i:], " "))
			return i, c
		}
	}
	return -1, 0
}

// quoteInBrackets matches a typographic quote at the beginning of a value within brackets.
var quoteInBrackets = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[\[{,]|: )\s*([“”„‘])`) })

// withoutQuoted replaces quoted text with spaces.
func withoutQuoted(text string) string {
	out := []byte(text)
	var quote byte
	for i := range out {
		switch c := out[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			out[i] = ' '
		case c == '"' || c == '\'':
			quote, out[i] = c, ' '
		}
	}
	return string(out)
}
