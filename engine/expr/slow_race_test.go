//go:build race

package expr_test

// slow is how much longer tests may take: the race detector slows everything down.
const slow = 20
