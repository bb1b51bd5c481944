package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAbout checks that the responses about a workflow contain the description in its file, with tags in the form in
// which they are searched, and that the responses about a workflow without a description have no such fields.
func TestAbout(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"tagged.dig": "zerodag: 1\ntags: [daily, {team: sales}]\nowner: us\ndescription: |\n  One\n  two\n+a: {echo>: x}\n", "plain.dig": "+a: {echo>: x}\n"}))
	const shown = `"description":"One\ntwo","owner":"us","tags":["daily","team=sales"]`
	project := c.must(http.MethodGet, "/api/project?name=p", nil)["id"].(string)
	for path, want := range map[string]int{"/api/workflows": 1, "/api/projects/" + project + "/workflows": 1, "/api/workflow?project=p&name=tagged": 1, "/api/workflow?project=p&name=plain": 0} {
		a := c.call(http.MethodGet, path, nil)
		if got := strings.Count(string(a.content), shown); a.status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %d times %s, want %d: %s", path, a.status, got, shown, want, a.content)
		}
	}
	if a := c.call(http.MethodGet, "/api/workflow?project=p&name=plain", nil); strings.Contains(string(a.content), "tags") || strings.Contains(string(a.content), "owner") {
		t.Errorf("one that says nothing: %s", a.content)
	}
}
