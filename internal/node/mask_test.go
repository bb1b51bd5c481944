package node_test

import (
	"context"
	"strings"
	"testing"

	"zerodag/engine"
	"zerodag/operators"
)

// TestMask proves that secrets given to a task appear neither in its log, in whatever pieces they are written and
// however they overlap, nor in its error.
func TestMask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes []string
		want   string
	}{
		"whole":            {[]string{"a password1 b"}, "a **** b"},
		"split":            {[]string{"a pass", "wor", "d1 b"}, "a **** b"},
		"byte by byte":     {strings.Split("a password1 b", ""), "a **** b"},
		"not one":          {[]string{"a pass", "ion"}, "a passion"},
		"longer one":       {[]string{"password1-extended"}, "****"},
		"longer one split": {[]string{"password1", "-extended."}, "****."},
		"not the longer":   {[]string{"password1", "-ext."}, "****-ext."},
		"overlap":          {[]string{"<password1-exXYZW>"}, "<****>"},
		"overlap split":    {[]string{"<passw", "ord1-", "exXY", "ZW>"}, "<****>"},
		"overlap in bytes": {strings.Split("<password1-exXYZW>", ""), "<****>"},
		"two":              {[]string{"password1password1"}, "********"},
		"short":            {[]string{"a 1 b"}, "a 1 b"},
		"lines":            {[]string{"x\npassw", "ord1\n", "y"}, "x\n****\ny"},
		"at the end":       {[]string{"passw"}, "passw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", func(_ context.Context, o *operators.Task) (operators.Result, error) {
					for _, key := range []string{"a", "b", "c", "d"} {
						if _, found, err := o.Secrets.Get(key); err != nil || !found {
							t.Error(key, err)
						}
					}
					for _, s := range c.writes {
						if n, err := o.Log.Write([]byte(s)); err != nil || n != len(s) {
							t.Error(n, err)
						}
					}
					return operators.Result{}, operators.Failf("cannot use %s", "password1-exXYZW")
				})
				p := w.serve()
				project := p.push("main.dig", "+a:\n  work>: a\n  _secrets: {a: true, b: true, c: true, d: true}\n")
				for key, value := range map[string]string{"a": "password1", "b": "password1-extended", "c": "ord1-exXYZW", "d": "1"} {
					w.must(p.PutSecret(w.t.Context(), 0, project.ID, key, value))
				}
				a := p.start(1)
				want(t, "status", p.end(a), "error")
				raw := w.log["+main+a"]
				for strings.HasPrefix(raw, "[") {
					_, raw, _ = strings.Cut(raw, "]")
				}
				raw, lines, _ := strings.Cut(raw, "[")
				want(t, "log", raw, c.want)
				if strings.Contains(lines, "password1") || !strings.Contains(lines, "cannot use ****") {
					t.Errorf("lines are %q", lines)
				}
				w.must(p.View(w.t.Context(), p.row(a), func(s *engine.State) {
					message, _ := s.Task(2).Error.Get("message")
					want(t, "error", message, "cannot use ****")
				}))
			})
		})
	}
}
