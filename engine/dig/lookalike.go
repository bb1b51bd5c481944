package dig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Spaces that look like those of ASCII, and with which YAML neither indents nor ends a colon.
const (
	ideographicSpace = '\u3000'
	noBreakSpace     = '\u00a0'
)

// twins maps characters of Japanese keyboards to the ASCII characters that they resemble.
func twins() map[rune]string {
	return map[rune]string{'：': ":", '＋': "+", '＞': ">", '＃': "#", '－': "-", '｛': "{", '｝': "}", '［': "[", '］': "]", '，': ",", '、': ",", '｜': "|", '＿': "_", '＄': "$",
		'“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'"}
}

// lookAlikes finds characters in places that need the ASCII characters they resemble. Texts of several lines, quoted
// texts and comments hold what they like.
func lookAlikes(file string, text []byte) (found Errors) {
	block := -1 // indentation of the key whose text of several lines is passed over
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		body := strings.TrimLeft(line, " \t")
		indent := len(line) - len(body)
		if body == "" || block >= 0 && indent > block {
			continue
		}
		block = -1
		if at, twin, where := lookAlike(body); at >= 0 && !strings.HasPrefix(body, "#") {
			found = append(found, Error{File: file, Line: n + 1, Column: 1 + utf8.RuneCountInString(line[:indent+at]),
				Message: fmt.Sprintf("line %d has %s %s", n+1, called(twin), where), Hint: instead(twin)})
		}
		if startsText(body) {
			block = indent
		}
	}
	return found
}

// called names a character.
func called(c rune) string {
	switch c {
	case ideographicSpace:
		return "a full-width space (U+3000)"
	case noBreakSpace:
		return "a no-break space (U+00A0)"
	}
	if strings.ContainsRune("“”„‘’", c) {
		return fmt.Sprintf("a typographic quote (%c)", c)
	}
	return fmt.Sprintf("a full-width %c", c)
}

// instead returns the remedy for a character.
func instead(c rune) string {
	switch c {
	case ideographicSpace, noBreakSpace:
		return "write a space, which looks the same: delete the character and press the space bar with the input method off"
	case '：':
		return "write `:` and a space: switch the input method off"
	}
	return fmt.Sprintf("write `%s`, with the input method off", twins()[c])
}

// startsText reports whether the lines below, as far as they are indented, are a text.
func startsText(body string) bool {
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

// lookAlike finds the first such character of a line without its indentation; -1 for none.
func lookAlike(body string) (at int, c rune, where string) {
	first, size := utf8.DecodeRuneInString(body)
	switch first {
	case ideographicSpace, noBreakSpace:
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

// keyEnd is where the name at the beginning of a line ends, with a colon or with what looks like one of the characters that a key is
// made of; -1 if the line begins with no key.
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

// inValue looks behind the colon of a key.
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
	case first == noBreakSpace || first == ideographicSpace:
		return from, first, "behind the colon of a key"
	case strings.ContainsRune("“”„‘’", first) && strings.ContainsRune("“”‘’", last) && len(trimmed) > size:
		return from, first, "around a value, which becomes a part of it"
	case first == '｛', first == '［', first == '｜':
		return from, first, "at the start of a value"
	case first == '"' || first == '\'' || first == '#' || first == '|' || first == '>':
		return -1, 0, ""
	}
	for _, mark := range []string{"\u3000#", "\u00a0#", " ＃"} { // a comment that is none
		if i := strings.Index(trimmed, mark); i >= 0 {
			c, _ := utf8.DecodeRuneInString(strings.TrimLeft(trimmed[i:], " "))
			return from + i, c, "before a comment, which so becomes a part of the value"
		}
	}
	if first == '[' || first == '{' {
		if i := strings.IndexAny(withoutQuoted(trimmed), "，、：［］｛｝"); i >= 0 {
			c, _ := utf8.DecodeRuneInString(trimmed[i:])
			return from + i, c, "within brackets"
		}
	}
	return -1, 0, ""
}

// withoutQuoted replaces what is in quotes by spaces.
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

// explained replaces what is wrong with files by the look-alikes in them, whose consequences the other messages are.
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
