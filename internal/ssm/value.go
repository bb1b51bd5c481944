package ssm

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is "1 <text>" if one parameter holds it. A longer one has "<parts> <generation> <text>" there and the rest of
// its text in <key>/<generation>.<n>: a reader never joins parts of two values.
//
// SSM refuses values with "{{...}}", which it mistakes for references. If a value has two consecutive braces, its text
// is encoded in Base64, with a "b" before the number.
const maxPart = 4000 // of the 4,096 bytes; the head of the first part takes some

type part struct {
	text       string
	generation string // of the first part
	count      int
	encoded    bool // of the first part: the text of all parts together is Base64
}

// encodedMark begins the head of a value that is encoded in Base64.
const encodedMark = "b"

// refusedBySSM reports whether SSM would refuse the unencoded value.
func refusedBySSM(value string) bool {
	return strings.Contains(value, "{{") || strings.Contains(value, "}}")
}

// split splits a value into parts without splitting characters.
func split(value string) []part {
	if !refusedBySSM(value) {
		return splitText(value)
	}
	parts := splitText(base64.StdEncoding.EncodeToString([]byte(value)))
	parts[0].text, parts[0].encoded = encodedMark+parts[0].text, true
	return parts
}

func splitText(value string) []part {
	if len(value) <= maxPart {
		return []part{{text: "1 " + value, count: 1}}
	}
	var parts []part
	for rest := value; rest != ""; {
		n := min(len(rest), maxPart)
		for n < len(rest) && n > maxPart-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
			n--
		}
		parts = append(parts, part{text: rest[:n]})
		rest = rest[n:]
	}
	first := &parts[0]
	first.count, first.generation = len(parts), rand.Text()[:12]
	first.text = strconv.Itoa(first.count) + " " + first.generation + " " + first.text
	return parts
}

var errForm = errors.New("zerodag did not write this value: set the secret again")

func parseHead(text string) (part, error) {
	plain, encoded := strings.CutPrefix(text, encodedMark)
	number, rest, ok := strings.Cut(plain, " ")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n < 1:
		return part{}, errForm
	case n == 1:
		return part{text: rest, count: 1, encoded: encoded}, nil
	}
	generation, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return part{}, errForm
	}
	return part{rest, generation, n, encoded}, nil
}

// partName returns the name of one part of a secret, below the project's path.
func partName(key string, i int, parts []part) string {
	if i == 0 {
		return escape(key)
	}
	return escape(key) + "/" + parts[0].generation + "." + strconv.Itoa(i)
}

// assemble joins parameters into secrets by key.
func assemble(found map[string]string) (map[string]string, error) {
	values := map[string]string{}
	for name, text := range found {
		key, ok := unescape(name)
		if !ok {
			continue // part of another value
		}
		first, err := parseHead(text)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", key, err)
		}
		value := first.text
		for i := 1; i < first.count; i++ {
			part, ok := found[name+"/"+first.generation+"."+strconv.Itoa(i)]
			if !ok {
				return nil, fmt.Errorf("secret %s: part %d is missing: the secret was changed or deleted in the meantime", key, i)
			}
			value += part
		}
		if first.encoded {
			b, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, fmt.Errorf("secret %s: %w", key, errForm)
			}
			value = string(b)
		}
		values[key] = value
	}
	return values, nil
}

// escape writes a key with the characters that parameter names may contain; other characters, and the underscore
// itself, become an underscore and two hex digits.
func escape(key string) string {
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; plainByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-'
}

// unescape returns the key of a name, or false if escape has not written the name.
func unescape(name string) (string, bool) {
	var b []byte
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case plainByte(c):
			b = append(b, c)
		case c == '_' && i+2 < len(name):
			n, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b = append(b, byte(n))
			i += 2
		default:
			return "", false
		}
	}
	return string(b), name != "" && escape(string(b)) == name
}
