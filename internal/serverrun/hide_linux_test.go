package serverrun

import (
	"bytes"
	"testing"

	"zerodag/internal/lineage"
)

// TestBlanked proves that the environment that the system shows contains nothing from variables that commands do not
// get, and that all other variables stay in place.
func TestBlanked(t *testing.T) {
	t.Parallel()
	const shown = "PATH=/bin\x00ZERODAG_SECRET_KEY=secret\x00LANG=C\x00AWS_SECRET_ACCESS_KEY=secret\x00no equals sign\x00"
	for _, gives := range []lineage.Environment{lineage.NotOwn, lineage.Bare, lineage.Everything} {
		got := blanked([]byte(shown), gives)
		if len(got) != len(shown) {
			t.Fatalf("%v: %d bytes became %d", gives, len(shown), len(got))
		}
		if !bytes.HasPrefix(got, []byte("PATH=/bin\x00")) {
			t.Errorf("%v: PATH is gone: %q", gives, got)
		}
		if hidden := !bytes.Contains(got, []byte("ZERODAG_SECRET_KEY")); hidden == gives.Gives("ZERODAG_SECRET_KEY") {
			t.Errorf("%v: %q", gives, got)
		}
	}
	if got := blanked([]byte(shown), lineage.Bare); bytes.Contains(got, []byte("secret")) {
		t.Errorf("a secret is shown: %q", got)
	}
}
