package param

// Size returns the approximate size of a value's JSON in bytes, without creating it: the sizes of its names and
// strings, and a few bytes for each value.
func Size(v Value) int {
	const each = 4 // quotes, commas, colons; a number or a word
	n := each
	switch x := v.(type) {
	case string:
		n += len(x)
	case Literal:
		n += len(x)
	case []Value:
		for _, e := range x {
			n += Size(e)
		}
	case *Map:
		for key, e := range x.All() {
			n += len(key) + each + Size(e)
		}
	}
	return n
}
