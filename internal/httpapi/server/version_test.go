package server

import "testing"

// TestVersionOrder checks the order of client versions (wire.md 3.4).
func TestVersionOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		older bool
	}{
		{"0.9.42", "0.10.0", true},
		{"0.10.0", "0.9.42", false},
		{"1.0", "1.0.0", false},
		{"1.0.0", "1.0", false},
		{"1.0-rc1", "1.0", true},
		{"1.0", "1.0-rc1", false},
		{"1.0-SNAPSHOT", "1.0-rc1", true},
		{"1.0-a", "1.0-a", false},
		{"2", "1.9.9-x", false},
	} {
		a, err := parseVersion(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseVersion(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.olderThan(b); got != c.older {
			t.Errorf("%s older than %s: %t, want %t", c.a, c.b, got, c.older)
		}
	}
}

// TestWrongVersions checks which strings are not versions.
func TestWrongVersions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "garbage", "01.2", "1.", ".1", "1.2-", "1.2-a b", "v1", "99999999999"} {
		if _, err := parseVersion(text); err == nil {
			t.Errorf("%q is taken for a version", text)
		}
	}
}
