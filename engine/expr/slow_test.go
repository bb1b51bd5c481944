//go:build !race

package expr_test

// slow is how much longer tests may take.
const slow = 1
