package expr

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"zerodag/engine/param"
)

// appendValue appends v as JSON.stringify(JSON.parse(v)) would write it: numbers are
// doubles, and keys that look like array indexes come first, in their order.
func appendValue(b []byte, v param.Value) ([]byte, bool) {
	switch x := v.(type) {
	case nil:
		b = append(b, "null"...)
	case bool:
		b = strconv.AppendBool(b, x)
	case string:
		return AppendString(b, x)
	case param.Literal:
		return AppendString(b, string(x))
	case []param.Value:
		b = append(b, '[')
		for i, item := range x {
			if i > 0 {
				b = append(b, ',')
			}
			var ok bool
			if b, ok = appendValue(b, item); !ok {
				return b, false
			}
		}
		b = append(b, ']')
	case *param.Map:
		return appendMap(b, x)
	default:
		return AppendNumber(b, v), true
	}
	return b, true
}

func appendMap(b []byte, m *param.Map) ([]byte, bool) {
	b = append(b, '{')
	for i, key := range keyOrder(m) {
		if i > 0 {
			b = append(b, ',')
		}
		v, _ := m.Get(key)
		var ok bool
		if b, ok = AppendString(b, key); !ok {
			return b, false
		}
		if b, ok = appendValue(append(b, ':'), v); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// keyOrder returns the keys in the order in which a JavaScript object lists them.
func keyOrder(m *param.Map) []string {
	if !slices.ContainsFunc(m.Keys(), isIndex) {
		return m.Keys()
	}
	keys := slices.Clone(m.Keys())
	slices.SortStableFunc(keys, func(a, b string) int {
		switch x, y := isIndex(a), isIndex(b); {
		case x && y:
			return compareIndex(a, b)
		case x:
			return -1
		case y:
			return 1
		}
		return 0
	})
	return keys
}

func compareIndex(a, b string) int {
	x, _ := strconv.ParseUint(a, 10, 64) // isIndex has checked it
	y, _ := strconv.ParseUint(b, 10, 64)
	if x < y {
		return -1
	}
	return 1
}

// isIndex reports whether a key is a canonical array index, 0 to 2^32-2.
func isIndex(key string) bool {
	if key == "" || len(key) > 10 || key[0] < '0' || key[0] > '9' || len(key) > 1 && key[0] == '0' {
		return false
	}
	n, err := strconv.ParseUint(key, 10, 64)
	return err == nil && n < math.MaxUint32
}

// AppendNumber appends a number as JavaScript writes it: as a double.
func AppendNumber(b []byte, v param.Value) []byte {
	var f float64
	switch x := v.(type) {
	case int64:
		if x > -1<<53 && x < 1<<53 {
			return strconv.AppendInt(b, x, 10)
		}
		f = float64(x)
	case *big.Int:
		f, _ = x.Float64()
	case float64:
		f = x
	}
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		if _, isFloat := v.(float64); isFloat {
			// As a parameter it is already text: JSON has no such number.
			return append(b, param.FloatText(f)...)
		}
		return append(b, "null"...)
	case f == 0:
		return append(b, '0') // also -0
	case math.Abs(f) >= 1e21 || math.Abs(f) < 1e-6:
		s := strconv.AppendFloat(nil, f, 'e', -1, 64)
		s = bytes.Replace(s, []byte("e-0"), []byte("e-"), 1)
		return append(b, s...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// AppendString quotes a string like JSON.stringify; false if it is not UTF-8.
func AppendString(b []byte, s string) ([]byte, bool) {
	if !utf8.ValidString(s) {
		return b, false
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		default:
			b = appendControl(b, c)
		}
	}
	return append(b, '"'), true
}

func appendControl(b []byte, c byte) []byte {
	const letters, hex = "btn\vfr", "0123456789abcdef"
	if c >= '\b' && c <= '\r' && c != '\v' {
		return append(b, '\\', letters[c-'\b'])
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
