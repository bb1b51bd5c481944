package awscost

import "testing"

// TestDollars checks how displayed amounts are rounded.
func TestDollars(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{0: "0", 0.00004: "<0.0001", 0.00005: "0.0001", 0.12345: "0.1235", 0.99: "0.9900", 0.995: "0.99", 1.006: "1.01", 1234.5: "1234.50", -0.00001: ">-0.0001", -0.5: "-0.5000"} {
		if got := dollars(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.0004: "0", 1.23456: "1.235", 99.9999: "100", 123.4: "123"} {
		if got := quantity(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}
