package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestLabels checks that the responses about an attempt and its session contain the labels of its start in order, and
// no such field without labels; which labels are refused; and that each way to make another attempt of a session copies
// them.
func TestLabels(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": "+a: {echo>: x}\n+b: {fail>: no}\n"}))
	w := c.first("/api/workflows")["id"].(string)
	start := func(day int, name, more string) answer {
		return c.call(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-%02dT00:00:00Z","retryAttemptName":%s,"params":{}%s}`, w, day, name, more))
	}
	has := func(what string, a answer, want string) {
		t.Helper()
		if a.status != http.StatusOK || want == "" && strings.Contains(string(a.content), "labels") || !strings.Contains(string(a.content), want) {
			t.Errorf("%s: %d %s, want %s", what, a.status, a.content, want)
		}
	}
	const shown = `"labels":{"team":"sales","note":"a = b, c"}`
	first := start(1, "null", `,"labels":{"team":"sales","note":"a = b, c"}`)
	has("a start", first, shown)
	var made struct{ ID, SessionID string }
	if err := json.Unmarshal(first.content, &made); err != nil {
		t.Fatal(err)
	}
	c.ended(made.ID)
	project, attempt, session := c.must(http.MethodGet, "/api/project?name=p", nil)["id"].(string), "/api/attempts/"+made.ID, "/api/sessions/"+made.SessionID
	for _, path := range []string{attempt, "/api/attempts", attempt + "/retries", "/api/sessions", session, session + "/attempts", "/api/projects/" + project + "/sessions"} {
		has(path, c.call(http.MethodGet, path, nil), shown)
	}
	has("a start with a resume", start(1, `"two"`, `,"labels":{"note":"other","more":"1"},"resume":{"mode":"failed","attemptId":`+made.ID+`}`), `"labels":{"team":"sales","note":"other","more":"1"}`)
	has("a start with a resume and no labels", start(1, `"three"`, `,"resume":{"mode":"failed","attemptId":`+made.ID+`}`), shown)
	has("a rerun", c.call(http.MethodPost, "/api/x/attempts/"+made.ID+"/rerun", `{"mode":"failed"}`), shown)
	has("a rerun of all", c.call(http.MethodPost, "/api/x/attempts/"+made.ID+"/rerun", `{"mode":"all"}`), shown)
	has("a fork", c.call(http.MethodPost, attempt+"/fork", `{"seq":1,"retryAttemptName":"four"}`), shown)
	has("a start without a resume", start(1, `"five"`, ""), "")
	for i, none := range []string{"", `,"labels":null`, `,"labels":{}`} {
		has("a start with no labels", start(2, fmt.Sprintf(`"n%d"`, i), none), "")
	}
	many := ""
	for i := range 21 {
		many += fmt.Sprintf(`,"l%d":"x"`, i)
	}
	for labels, why := range map[string]string{
		`["a"]`: "", `"a"`: "", `{"a b":"x"}`: "1 to 64 letters", `{"":"x"}`: "1 to 64 letters", `{"a":1}`: "must be a string", `{"a":null}`: "must be a string", `{"a":""}`: "is empty",
		`{"a":"x\ny"}`: "control characters", `{"` + strings.Repeat("a", 65) + `":"x"}`: "1 to 64 letters", `{"a":"` + strings.Repeat("ü", 201) + `"}`: "200 characters",
		"{" + many[1:] + "}": "at most 20 labels",
	} {
		if a := start(3, "null", `,"labels":`+labels); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), why) {
			t.Errorf("labels %.60s: %d %s", labels, a.status, a.content)
		}
	}
	has("the longest labels", start(3, "null", `,"labels":{"`+strings.Repeat("a", 64)+`":"`+strings.Repeat("ü", 200)+`"}`), strings.Repeat("ü", 200))
}
