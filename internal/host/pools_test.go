package host

import "testing"

// FuzzHolder proves that a holder is read as it was written, and that nothing else is read as one by mistake.
func FuzzHolder(f *testing.F) {
	for _, s := range []string{"1234567890123456/12/3", "1/2/3", "1/2", "a/b/c", "-1/0/+3", "1/2/3/4", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHolder(s)
		if err != nil {
			return
		}
		if again, err := ParseHolder(h.String()); err != nil || again != h {
			t.Errorf("%q is read as %v, which is read as %v, %v", s, h, again, err)
		}
	})
}
