package sandbox_test

import (
	"testing"

	"zerodag/internal/sandbox"
)

// FuzzParseName proves that each string that is accepted as a name is the name of exactly one place.
func FuzzParseName(f *testing.F) {
	f.Add("890701128597845-ad0c6671dcdd55d8-0-bymaqjfrkp5t")
	f.Add("1-k-0-")
	f.Fuzz(func(t *testing.T, name string) {
		p, err := sandbox.ParseName(name)
		if err != nil {
			return
		}
		r := sandbox.Runner{Attempt: p.Attempt, Class: p.Class, Slot: p.Slot, ID: p.ID}
		if again, err := sandbox.ParseName(r.Name()); err != nil || again != p {
			t.Errorf("%q is %+v, which is %q, which is %+v, %v", name, p, r.Name(), again, err)
		}
	})
}
