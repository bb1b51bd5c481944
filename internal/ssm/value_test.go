package ssm

import (
	"testing"

	"pgregory.net/rapid"
)

// TestValues proves that any key and value come back as they were, in names and parts that
// the Parameter Store takes.
func TestValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, value := rapid.StringN(1, 20, 40).Draw(t, "key"), rapid.StringN(0, -1, maxValue).Draw(t, "value")
		parts, found := split(value), map[string]string{}
		for i, p := range parts {
			if len(p.text) > 4096 || p.text == "" {
				t.Fatalf("part %d has %d bytes", i, len(p.text))
			}
			found[partName(key, i, parts)] = p.text
		}
		all, err := assemble(found)
		if err != nil || len(all) != 1 || all[key] != value {
			t.Fatalf("%d bytes became %d, %v", len(value), len(all[key]), err)
		}
	})
}
