package operators

import (
	"testing"

	"zerodag/engine/param"
)

// TestInt32 checks that a number that a service cannot represent becomes an error, not a different number.
func TestInt32(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"0": true, "2147483647": true, "-2147483648": true, "2147483648": false, "-2147483649": false, "4294967297": false, "x": false} {
		p := NewParams(param.New("n", text))
		n, err := p.Int32("n")
		if (err == nil) != good {
			t.Errorf("%s is %d, %v", text, n, err)
		}
		if m, err := p.Int32Or("other", 7); m != 7 || err != nil {
			t.Errorf("a missing one is %d, %v", m, err)
		}
	}
}
