package embedded

import (
	"strings"
	"testing"
)

// TestSystems proves that a server refuses to start, with a remedy, if it could not keep its data private.
func TestSystems(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "darwin", "freebsd"} {
		if err := keeps(system); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := keeps("windows"); err == nil || !strings.Contains(err.Error(), "WSL") {
		t.Errorf("windows: %v", err)
	}
}
