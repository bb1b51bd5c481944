package letters

import (
	"fmt"
	"strings"
)

// Characters that look like ASCII spaces, but in YAML neither count as indentation nor let a colon before them end a
// key.
const (
	IdeographicSpace = '\u3000'
	NoBreakSpace     = '\u00a0'
)

// twins maps characters on Japanese keyboards to the ASCII characters that they resemble.
func twins() map[rune]string {
	return map[rune]string{'：': ":", '＋': "+", '＞': ">", '＃': "#", '－': "-", '｛': "{", '｝': "}", '［': "[", '］': "]", '，': ",", '、': ",", '｜': "|", '＿': "_", '＄': "$",
		'“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'"}
}

// IsInvisible reports whether a character has no width: it cannot be seen, but is part of its key or word.
func IsInvisible(c rune) bool {
	switch c {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2060', '\ufeff':
		return true
	}
	return false
}

// Visible returns a string without its invisible characters.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if IsInvisible(r) {
			return -1
		}
		return r
	}, text)
}

// IsLookAlike reports whether a character resembles an ASCII one.
func IsLookAlike(c rune) bool {
	_, isTwin := twins()[c]
	return isTwin || c == IdeographicSpace || c == NoBreakSpace || isDash(c) || IsInvisible(c)
}

func isDash(c rune) bool { return '\u2010' <= c && c <= '\u2015' || c == '\u2212' }

// NameOf names a character.
func NameOf(c rune) string {
	switch {
	case isDash(c):
		return fmt.Sprintf("a typographic dash (%c)", c)
	case IsInvisible(c):
		return fmt.Sprintf("an invisible character (%U)", c)
	}
	switch c {
	case IdeographicSpace:
		return "a full-width space (U+3000)"
	case NoBreakSpace:
		return "a no-break space (U+00A0)"
	}
	if strings.ContainsRune("“”„‘’", c) {
		return fmt.Sprintf("a typographic quote (%c)", c)
	}
	return fmt.Sprintf("a full-width %c", c)
}

// Remedy returns how to replace a character.
func Remedy(c rune) string {
	switch {
	case isDash(c):
		return "write `-` with the input method switched off"
	case IsInvisible(c):
		return "delete it, or retype the line"
	}
	switch c {
	case IdeographicSpace, NoBreakSpace:
		return "replace it with a space, which looks the same: delete the character and press the space bar with the input method switched off"
	case '：':
		return "write `:` and a space with the input method switched off"
	}
	return fmt.Sprintf("write `%s` with the input method switched off", twins()[c])
}
