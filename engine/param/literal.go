package param

import "strings"

// Literal is text that is data: a `${...}` in it is never evaluated. Stores of operators and external input become
// Literals if they contain a `$`; otherwise a Literal behaves like its text.
type Literal string

// Data returns a value in which all text is data. Parts without `$` are shared with the original.
func Data(v Value) Value {
	switch x := v.(type) {
	case string:
		if strings.IndexByte(x, '$') >= 0 {
			return Literal(x)
		}
	case *Map:
		return DataMap(x)
	case []Value:
		if !hasDollar(x) {
			return x
		}
		out := make([]Value, len(x))
		for i, e := range x {
			out[i] = Data(e)
		}
		return out
	}
	return v
}

// DataMap is Data for a mapping; nil stays nil. Keys are never evaluated.
func DataMap(m *Map) *Map {
	if !hasDollar(m) {
		return m
	}
	out := m.Clone()
	for i, v := range out.vals {
		out.vals[i] = Data(v)
	}
	return out
}

// hasDollar reports whether a value has text that could be evaluated.
func hasDollar(v Value) bool {
	switch x := v.(type) {
	case string:
		return strings.IndexByte(x, '$') >= 0
	case *Map:
		for i := range x.Len() {
			if hasDollar(x.vals[i]) {
				return true
			}
		}
	case []Value:
		for _, e := range x {
			if hasDollar(e) {
				return true
			}
		}
	}
	return false
}

// Code returns a value in which no text is data anymore.
func Code(v Value) Value {
	switch x := v.(type) {
	case Literal:
		return string(x)
	case *Map:
		return CodeMap(x)
	case []Value:
		out := make([]Value, len(x))
		for i, e := range x {
			out[i] = Code(e)
		}
		return out
	}
	return v
}

// CodeMap is Code for a mapping; nil stays nil.
func CodeMap(m *Map) *Map {
	if m == nil {
		return nil
	}
	out := m.Clone()
	for i, v := range out.vals {
		out.vals[i] = Code(v)
	}
	return out
}

// Same is Equal, except that data and code with the same text are equal.
func Same(a, b Value) bool { return Equal(Code(a), Code(b)) }

// In stored text, a Literal is an object with literalKey as its only key. Keys of mappings that begin with literalKey
// get it prepended again, so that they cannot be mistaken for a Literal.
const literalKey = "\x00"

func appendLiteral(b []byte, text Literal) []byte {
	b = append(b, `{"\u0000":`...)
	return append(appendQuoted(b, string(text)), '}')
}

func storedKey(key string) string {
	if strings.HasPrefix(key, literalKey) {
		return literalKey + key
	}
	return key
}
