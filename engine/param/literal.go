package param

import "strings"

// Literal is text that is data: where `${...}` stands in it, nothing is ever evaluated.
// What operators store and what comes from outside is made of it, as far as it has a `$`
// at all; everywhere else it reads as the text that it is.
type Literal string

// Data returns a value in which every text is data. What has no `$` is shared.
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

// DataMap is Data of a mapping; nil stays nil. Keys are never evaluated.
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

// hasDollar says whether a value has a text that could be evaluated.
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

// Code returns a value in which no text is data any more.
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

// CodeMap is Code of a mapping; nil stays nil.
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

// Same is Equal, where data and code with the same text are the same.
func Same(a, b Value) bool { return Equal(Code(a), Code(b)) }

// In stored text a Literal is an object with literalKey as its only key; keys of mappings
// that begin like it have it once more in front, so that none can be taken for it.
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
