package dig

import (
	"strings"

	"zerodag/engine/param"
)

// javaText formats a mapping or list that is used as a key as Digdag does, in Java's notation: {a=1, b=[x, null]}.
func javaText(v param.Value) string {
	var b strings.Builder
	writeJava(&b, v)
	return b.String()
}

func writeJava(b *strings.Builder, v param.Value) {
	switch x := v.(type) {
	case string:
		b.WriteString(x)
	case []param.Value:
		b.WriteByte('[')
		for i, e := range x {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJava(b, e)
		}
		b.WriteByte(']')
	case *param.Map:
		b.WriteByte('{')
		for i := range x.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			key, e := x.At(i)
			b.WriteString(key + "=")
			writeJava(b, e)
		}
		b.WriteByte('}')
	default:
		b.WriteString(param.Text(v))
	}
}
