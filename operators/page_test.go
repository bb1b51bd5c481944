package operators_test

import (
	"strings"
	"testing"

	"zerodag/operators"
	"zerodag/operators/all"
)

// TestPage checks that operators that share a folder each have a page.
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

// TestReason checks that an operator's page explains an error, whatever names and numbers it contains.
func TestReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ operator, message, want string }{
		{"for_each", "Expected array type for key 'dates' but got 3 (number) (config)", "a value is not a list"},
		{"loop", "Too many loop subtasks. Limit: 20 (config)", "the number of tasks of an attempt is limited (`executor.task_max_run`)"},
		{"http", "HTTP request failed: GET http://x", "there was no response, and `retry` is false"},
		{"http", "and HTTP request failed", ""},
		{"py", "The command took longer than 1s and was killed (sandbox: timeout)", "it reached a limit"},
		{"fail", "your message", ""},
		{"nosuch", "Too many loop subtasks", ""},
	} {
		if got := operators.Reason(c.operator, c.message); got != c.want {
			t.Errorf("%s> %q: %q, want %q", c.operator, c.message, got, c.want)
		}
	}
	if got := operators.Takes("mail"); got != "file name, or `{data: TEXT}`" {
		t.Errorf("mail> takes %q", got)
	}
	if got := operators.Example("loop"); !strings.HasPrefix(got, "+rounds:\n  loop>: 3\n") || strings.Contains(got, "```") {
		t.Errorf("the example of loop>: %q", got)
	}
}

// TestEveryOperatorHasAnExample checks that the error about a wrongly written built-in operator can show a correct
// example.
func TestEveryOperatorHasAnExample(t *testing.T) {
	t.Parallel()
	for _, name := range all.Registry().Names() {
		if example := operators.Example(name); !strings.Contains(example, name+">:") && !strings.Contains(example, "_type: "+name+"\n") {
			t.Errorf("the page of %s> has no example of it: %q", name, example)
		}
	}
}
