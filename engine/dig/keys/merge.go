package keys

import (
	"zerodag/engine/param"
)

// Overlaid lays the mappings of a list over each other, shallowly.
func Overlaid(list []param.Value) *param.Map {
	out := param.New()
	for _, v := range list {
		if m, ok := v.(*param.Map); ok {
			for key, value := range m.All() {
				out.Set(key, value)
			}
		}
	}
	return out
}
