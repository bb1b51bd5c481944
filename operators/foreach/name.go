package foreach

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"zerodag/engine/param"
)

// taskName names a combination: "+for-0=fruit=1=orange&1=verb=0=eat".
func taskName(choices []choice) string {
	parts := make([]string, len(choices))
	for i, c := range choices {
		value := c.variable.values[c.index]
		text, isText := value.(string)
		if !isText {
			text = param.Text(value)
		}
		parts[i] = strconv.Itoa(c.variable.index) + "=" + tag(c.variable.name) +
			"=" + strconv.Itoa(c.index) + "=" + tag(text)
	}
	return "+for-" + strings.Join(parts, "&")
}

// tagLength is how much of a key or value a name shows, in UTF-16 units, which Digdag counts as characters.
const tagLength = 8

// tag truncates a string and encodes it like a form field, with "%20" for spaces.
func tag(s string) string {
	units := utf16.Encode([]rune(s))
	if len(units) > tagLength {
		units = units[:tagLength]
		if utf16.IsSurrogate(rune(units[tagLength-1])) && units[tagLength-1] < 0xDC00 {
			units[tagLength-1] = '?' // half a character has no encoding
		}
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*_"
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for _, c := range []byte(string(utf16.Decode(units))) {
		if strings.IndexByte(plain, c) >= 0 {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return out.String()
}
