package keys

import (
	"zerodag/engine/param"
)

// Overlaid merges the mappings of a list shallowly; later ones win.
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
