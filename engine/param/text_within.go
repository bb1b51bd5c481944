package param

import "slices"

// AnyText reports whether any text within a value, which may be a list or a mapping, satisfies wanted. Keys are not
// checked.
func AnyText(v Value, wanted func(string) bool) bool {
	switch x := v.(type) {
	case string:
		return wanted(x)
	case []Value:
		return slices.ContainsFunc(x, func(e Value) bool { return AnyText(e, wanted) })
	case *Map:
		for _, e := range x.All() {
			if AnyText(e, wanted) {
				return true
			}
		}
	}
	return false
}
