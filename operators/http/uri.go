package http

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// illegal returns where a URI has a character that must be written as %XX, in Digdag's words and with its way of
// counting; "" if there is none. Digdag refuses such a URI instead of guessing which parts are already encoded.
func illegal(uri string) string {
	_, rest, _ := strings.Cut(uri, "://")
	slash := strings.IndexAny(rest, "/?#")
	if slash < 0 {
		return ""
	}
	start := len(uri) - len(rest) + slash
	part, units := "path", len(utf16.Encode([]rune(uri[:start])))
	for i, c := range uri[start:] {
		switch {
		case c == '#' && part != "fragment":
			part = "fragment"
		case c == '?' && part == "path":
			part = "query"
		case c == '%' && !escaped(uri[start+i:]):
			return fmt.Sprintf("Malformed escape pair at index %d", units)
		case !legal(c, part):
			return fmt.Sprintf("Illegal character in %s at index %d", part, units)
		}
		units += utf16.RuneLen(c)
	}
	return ""
}

func escaped(text string) bool {
	const hex = "0123456789abcdefABCDEF"
	return len(text) > 2 && strings.IndexByte(hex, text[1]) >= 0 && strings.IndexByte(hex, text[2]) >= 0
}

func legal(c rune, part string) bool {
	switch {
	case c > unicode.MaxASCII:
		return !unicode.IsControl(c) && !unicode.IsSpace(c)
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	case part != "path" && strings.ContainsRune("?[]", c):
		return true
	}
	return strings.ContainsRune("_-!.~'()*,;:$&+=@/%", c)
}
