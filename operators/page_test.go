package operators_test

import (
	"strings"
	"testing"

	"zerodag/operators"
)

// TestPage proves that operators which share a folder have a page each.
func TestPage(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]string{"http": "# http_call>", "http_call": "# http>", "param_set": "# param_get>"} {
		page, ok := operators.Page(name)
		if !ok || !strings.HasPrefix(page, "# "+name+">\n\n") || !strings.HasSuffix(page, "\n") {
			t.Errorf("%s>: %v, %q", name, ok, page)
		}
		if strings.Contains(page, others) {
			t.Errorf("%s>: the page goes on into that of another operator", name)
		}
	}
	for _, name := range []string{"", "nosuch", "http>", "param"} {
		if page, ok := operators.Page(name); ok {
			t.Errorf("%q has a page: %q", name, page)
		}
	}
}
