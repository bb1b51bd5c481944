package param

// Size is about how many bytes the JSON text of a value has, without making it: those of its names and texts, and a few
// for each value.
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
