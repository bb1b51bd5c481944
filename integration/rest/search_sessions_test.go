package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// searched pages through the sessions that match a query, and returns the workflow and day of each.
func (c caller) searched(path, query string, size int) string {
	c.t.Helper()
	var names []string
	for last := ""; ; {
		var page struct {
			Sessions []struct {
				Workflow    struct{ Name string }
				SessionTime string
			}
			Searched int
			Complete *bool
			Next     *string
		}
		c.get(fmt.Sprintf("%s?%s&page_size=%d%s", path, query, size, last), &page)
		if page.Complete == nil || !*page.Complete || len(page.Sessions) > size {
			c.t.Errorf("%s?%s: %+v", path, query, page)
		}
		for _, s := range page.Sessions {
			names = append(names, s.Workflow.Name+s.SessionTime[8:10])
		}
		if page.Next == nil {
			return strings.Join(names, " ")
		}
		last = "&last_id=" + *page.Next
	}
}

// TestSearchSessions checks that sessions are found by the tags of their workflow, by labels, and by status, times and
// text of their last attempt, newest first and in pages of any size; which queries are refused; and that a list without
// a filter is unchanged.
func TestSearchSessions(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{
		"both.dig":  "zerodag: 1\ntags: [daily, {team: Sales}]\n+a: {echo>: x}\n",
		"daily.dig": "zerodag: 1\ntags: [daily]\ntimezone: Asia/Tokyo\n+a: {fail>: no}\n",
		"plain.dig": "zerodag: 1\ndescription: Counts what is left\nowner: Stock team\n+a: {echo>: 'its {\"mark\"}'}\n",
	}))
	id := map[string]any{}
	for _, w := range c.must(http.MethodGet, "/api/workflows", nil)["workflows"].([]any) {
		id[w.(map[string]any)["name"].(string)] = w.(map[string]any)["id"]
	}
	start := func(workflow string, day int, more string) {
		a := c.must(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-%02dT20:00:00Z","params":{}%s}`, id[workflow], day, more))
		c.ended(a["id"].(string))
	}
	start("both", 1, `,"labels":{"ticket":"OPS-1","x":"1"}`)
	start("plain", 1, `,"labels":{"ticket":"OPS-2"}`)
	start("daily", 1, "")
	start("both", 2, "")
	start("plain", 2, "")
	start("daily", 2, `,"labels":{"ticket":"OPS-1"}`)
	start("daily", 1, `,"retryAttemptName":"again"`)
	c.must(http.MethodPut, "/api/projects?project=other&revision=r", archive(map[string]string{"other.dig": "zerodag: 1\ntags: [old]\n+a: {echo>: x}\n"}))

	ofProject := "/api/projects/" + c.must(http.MethodGet, "/api/project?name=p", nil)["id"].(string) + "/sessions"
	for query, want := range map[string]string{
		"tag=daily":                             "daily03 both02 daily02 both01",
		"tag=daily&tag=team%3DSales":            "both02 both01",
		"tag=team%3DSales":                      "both02 both01",
		"tag=team":                              "",
		"tag=old":                               "",
		"label=ticket%3DOPS-1":                  "daily03 both01",
		"label=ticket%3DOPS-1&label=x%3D1":      "both01",
		"label=ticket%3DOPS-1&tag=team%3DSales": "both01",
		"label=ticket%3DOPS":                    "",
		"status=error":                          "daily03 daily02",
		"status=success,killed":                 "plain02 both02 plain01 both01",
		"status=running":                        "",
		"from=2024-01-02T20:00:00Z":             "daily03 plain02 both02",
		"to=2024-01-02T20:00:00Z":               "daily02 plain01 both01",
		"from=2024-01-02":                       "daily03 plain02 both02 daily02",
		"from=2024-01-02T05:00:00&to=2024-01-02T05:00:01": "daily02",
		"q=PLAIN":                              "plain02 plain01",
		"q=ops-":                               "daily03 plain01 both01",
		"q=sales":                              "both02 both01",
		"q=what+is+LEFT":                       "plain02 plain01",
		"q=stock+team":                         "plain02 plain01",
		"q=%22mark%22":                         "plain02 plain01",
		"q=FAIL%3E":                            "daily03 daily02",
		"q=left&tag=daily":                     "",
		"q=" + url.QueryEscape("ticket=ops-2"): "plain01",
		"q=nothing":                            "",
		"q=":                                   "daily03 plain02 both02 daily02 plain01 both01",
		"q=daily&status=success":               "both02 both01",
	} {
		for _, size := range []int{1, 2, 100} {
			for _, path := range []string{"/api/sessions", ofProject} {
				if got := c.searched(path, query, size); got != want {
					t.Errorf("%s?%s in pages of %d: %q, want %q", path, query, size, got, want)
				}
			}
		}
	}
	if got := c.searched(ofProject, "workflow=both&tag=daily", 1); got != "both02 both01" {
		t.Errorf("of a workflow: %s", got)
	}
	if got := c.searched(ofProject, "workflow=plain&tag=daily", 1); got != "" {
		t.Errorf("of a workflow without the tag: %s", got)
	}
	for query, why := range map[string]string{
		"tag=": "must name a tag", "label=team": "name and a value", "label=%3Dx": "name must have", "status=lost": "must be one of running, success, error, killed",
		"status=": "must be one of", "from=yesterday": "must be a date", "to=2024-02-30": "must be a date", "q=" + strings.Repeat("x", 256): "255 bytes", "page_size=101&q=x": "MAX_PAGE_SIZE",
		strings.Repeat("tag=a&", 21): "at most",
	} {
		if a := c.call(http.MethodGet, "/api/sessions?"+query, nil); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), why) {
			t.Errorf("%.60s: %d %s", query, a.status, a.content)
		}
	}
	for query, want := range map[string]string{"tag=daily": "daily03", "label=ticket%3DOPS-1": "daily03", "q=ops-2": "plain01"} {
		var page struct {
			Sessions []struct{ Workflow struct{ Name string } }
		}
		c.get("/api/x/sessions?count=1&"+query, &page)
		if len(page.Sessions) != 1 || !strings.HasPrefix(want, page.Sessions[0].Workflow.Name) {
			t.Errorf("the console's list with %s: %+v", query, page)
		}
	}
	if a := c.call(http.MethodGet, "/api/sessions?page_size=0&q=x", nil); string(a.content) != `{"sessions":[],"searched":0,"complete":true,"next":null}` {
		t.Errorf("a page of none: %s", a.content)
	}
	if a := c.call(http.MethodGet, "/api/sessions?page_size=2", nil); strings.Contains(string(a.content), "searched") || strings.Count(string(a.content), "sessionUuid") != 2 {
		t.Errorf("a list that nobody narrows down: %s", a.content)
	}
}
