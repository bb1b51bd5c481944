package param

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON writes the mapping like AppendStored.
func (m *Map) MarshalJSON() ([]byte, error) { return AppendStored(nil, m), nil }

// UnmarshalJSON reads what MarshalJSON wrote, or any JSON object; its keys keep their order.
func (m *Map) UnmarshalJSON(b []byte) error {
	n, err := ParseStored(string(b))
	if err != nil {
		return err
	}
	if n == nil {
		return errors.New("a JSON object is needed")
	}
	*m = *n
	return nil
}

// Text renders a value as compact JSON.
func Text(v Value) string { return string(AppendJSON(nil, v)) }

// AppendJSON appends a value as compact JSON, with keys in order and floating-point numbers in Digdag's form ("1.0",
// "1.0E10"), because commands see them as text. A Literal is written as plain text.
func AppendJSON(b []byte, v Value) []byte { return appendJSON(b, v, false) }

// AppendStored appends a value as JSON that ParseStored reads back unchanged, including Literals. It is for data that
// zerodag stores and passes between its own processes.
func AppendStored(b []byte, v Value) []byte { return appendJSON(b, v, true) }

func appendJSON(b []byte, v Value, stored bool) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case *big.Int:
		return x.Append(b, 10)
	case float64:
		return append(b, FloatText(x)...)
	case string:
		return appendQuoted(b, x)
	case Literal:
		if stored {
			return appendLiteral(b, x)
		}
		return appendQuoted(b, string(x))
	case []Value:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e, stored)
		}
		return append(b, ']')
	case *Map:
		return appendMap(b, x, stored)
	}
	panic(fmt.Sprintf("param: %T is not a parameter value", v))
}

func appendMap(b []byte, m *Map, stored bool) []byte {
	b = append(b, '{')
	for i := range m.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		key := m.keys[i]
		if stored {
			key = storedKey(key)
		}
		b = appendQuoted(b, key)
		b = appendJSON(append(b, ':'), m.vals[i], stored)
	}
	return append(b, '}')
}

// FloatText formats a number like Digdag: always with a decimal point, and with an exponent from 1e7 up and below 1e-3;
// values that JSON has no number for are quoted.
func FloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return `"NaN"`
	case math.IsInf(f, 1):
		return `"Infinity"`
	case math.IsInf(f, -1):
		return `"-Infinity"`
	}
	if a := math.Abs(f); a != 0 && (a < 1e-3 || a >= 1e7) {
		mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exp) // always a number: FormatFloat wrote it
		return mantissa + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

const hexDigits = "0123456789ABCDEF"

// appendQuoted quotes like Digdag: it escapes only what JSON requires, so that text in any script stays readable in
// logs and environment variables.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + n
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// maxDepth limits the nesting of parsed text: deeper text is an attack, not data.
const maxDepth = 1000

// ParseJSON reads one JSON value. Keys keep their order, whole numbers stay whole at any size, and anything after the
// value is an error.
func ParseJSON(text string) (Value, error) { return parseJSON(text, false) }

// ParseStored reads a mapping that AppendStored wrote; nil if the text is not a mapping.
func ParseStored(text string) (*Map, error) {
	v, err := parseJSON(text, true)
	m, _ := v.(*Map)
	return m, err
}

func parseJSON(text string, stored bool) (Value, error) {
	d := reader{json.NewDecoder(strings.NewReader(text)), stored}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// reader reads JSON and, in stored text, Literals.
type reader struct {
	*json.Decoder
	stored bool
}

func (d reader) value(depth int) (Value, error) {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON is nested deeper than %d", maxDepth)
	}
	switch x := t.(type) {
	case json.Number:
		return ParseNumber(x.String())
	case json.Delim:
		if x == '[' {
			return d.list(depth)
		}
		return d.mapping(depth)
	}
	return t, nil // nil, bool, string
}

func (d reader) list(depth int) (Value, error) {
	list := []Value{}
	for d.More() {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func (d reader) mapping(depth int) (Value, error) {
	m := New()
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		key := k.(string) // the decoder allows only strings here
		if d.stored && key == literalKey {
			if text, ok := v.(string); ok && m.Len() == 0 && !d.More() {
				_, err := d.Token()
				return Literal(text), err
			}
		}
		if d.stored && strings.HasPrefix(key, literalKey+literalKey) {
			key = key[len(literalKey):]
		}
		m.Set(key, v)
	}
	_, err := d.Token()
	return m, err
}

// ParseNumber reads a JSON number: a whole number as int64 or, if it does not fit, *big.Int.
func ParseNumber(s string) (Value, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if !strings.ContainsAny(s, ".eE") {
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil { // not a number, or one beyond all limits
		return nil, fmt.Errorf("the number %q cannot be stored", s)
	}
	return f, nil
}
