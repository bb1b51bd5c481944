package engine_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"zerodag/engine"
	"zerodag/engine/param"
)

// TestShortened checks that a message of any length and with any number of lines becomes short, and that a short one is
// unchanged.
func TestShortened(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "a\nb", strings.Repeat("x", 2000), strings.Repeat("x\n", 19) + "x"} {
		if got := engine.Shortened(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{strings.Repeat("x", 2001), strings.Repeat("x\n", 20), strings.Repeat("\n", 1<<20), strings.Repeat("é", 5000), "\xff" + strings.Repeat("ab\n", 50_000)} {
		got := engine.Shortened(text)
		if len(got) > 2100 || strings.Count(got, "\n") > 20 || !strings.HasSuffix(got, "the task's log has the whole message)") || !utf8.ValidString(got) {
			t.Errorf("%.20q became %q", text, got)
		}
	}
}

// TestExitCodeOfScript checks that an exit code from an operator counts, whatever the program's message contains.
func TestExitCodeOfScript(t *testing.T) {
	t.Parallel()
	var p engine.RetryPolicy
	p.ExitCodes = []int64{1}
	for _, x := range []struct {
		failure *param.Map
		want    bool
	}{
		{param.New("message", "ValueError: child failed with code 3", "exit_code", int64(1)), true},
		{param.New("message", "ValueError: child failed with code 1", "exit_code", int64(3)), false},
		{param.New("message", "Command failed with code 1 (runtime)"), true},
		{param.New("message", "ValueError: x"), false},
		{nil, false},
	} {
		if got := p.Repeats(x.failure); got != x.want {
			t.Errorf("%s: %t", param.Text(x.failure), got)
		}
	}
}
