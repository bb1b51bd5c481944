package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const declared = `zerodag: 1
schedule: {daily>: "07:00:00"}
params:
  days: {type: integer, minimum: 1, maximum: 31, default: 7}
  level: {default: 3, fixed: true}
outputs: {rows: {value: "${days * 10}", type: integer}}
+a: {echo>: x}
`

// TestParams checks that every way to start a workflow is checked against its `params`, and that outputs are only in
// the response about a single attempt.
func TestParams(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": declared, "plain.dig": "+a: {echo>: x}\n"}))
	id := func(name string) string {
		return c.must(http.MethodGet, "/api/workflow?project=p&name="+name, nil)["id"].(string)
	}
	w := id("wf")
	start := func(params, more string) answer {
		return c.call(http.MethodPut, "/api/attempts", `{"workflowId":"`+w+`","sessionTime":"2024-01-02T00:00:00Z","params":`+params+more+`}`)
	}
	a := start(`{"days":"40","level":4}`, "")
	for _, want := range []string{"'days' must be 31 or less: 40", "'level' is always 3 and cannot be changed"} {
		if a.status != http.StatusBadRequest || !strings.Contains(string(a.content), want) {
			t.Errorf("%d %s, want %s", a.status, a.content, want)
		}
	}
	if list := c.must(http.MethodGet, "/api/sessions", nil)["sessions"].([]any); len(list) != 0 {
		t.Errorf("a refused start left %v", list)
	}
	first := convert[object](t, c.must(http.MethodPut, "/api/attempts", `{"workflowId":"`+w+`","sessionTime":"2024-01-02T00:00:00Z","params":{"days":"4"}}`))
	given := func(params any) object {
		o, _ := params.(object)
		return object{"days": o["days"], "level": o["level"]}
	}
	if d := gocmp.Diff(object{"days": 4.0, "level": 3.0}, given(first["params"])); d != "" {
		t.Error(d)
	}
	attempt := first["id"].(string)
	if end := c.ended(attempt); end["success"] != true {
		t.Fatal(end)
	}
	if d := gocmp.Diff(object{"rows": 40.0}, c.must(http.MethodGet, "/api/attempts/"+attempt, nil)["outputs"]); d != "" {
		t.Error(d)
	}
	for _, path := range []string{"/api/attempts", "/api/sessions", "/api/attempts/" + attempt + "/retries"} {
		if text := string(c.call(http.MethodGet, path, nil).content); strings.Contains(text, "outputs") {
			t.Errorf("%s shows outputs: %s", path, text)
		}
	}
	plain := c.must(http.MethodPut, "/api/attempts", `{"workflowId":"`+id("plain")+`","sessionTime":"2024-01-02T00:00:00Z","params":{}}`)["id"].(string)
	c.ended(plain)
	if o, there := c.must(http.MethodGet, "/api/attempts/"+plain, nil)["outputs"]; there {
		t.Errorf("an attempt without outputs shows %v", o)
	}

	// a repeated start is also checked against the rules
	if a := c.call(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", `{"mode":"all","params":{"days":0}}`); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), "must be 1 or more") {
		t.Errorf("%d %s", a.status, a.content)
	}
	if a := start(`{"days":50}`, `,"retryAttemptName":"again"`); a.status != http.StatusBadRequest {
		t.Errorf("a further attempt: %d %s", a.status, a.content)
	}
	schedule := c.must(http.MethodGet, "/api/schedules", nil)["schedules"].([]any)[0].(object)["id"].(string)
	list := c.must(http.MethodPost, "/api/schedules/"+schedule+"/backfill", `{"fromTime":"`+time.Now().Add(-25*time.Hour).UTC().Format(time.RFC3339)+`","attemptName":"b","count":1,"dryRun":false}`)["attempts"].([]any)
	if len(list) != 1 || gocmp.Diff(object{"days": 7.0, "level": 3.0}, given(list[0].(object)["params"])) != "" {
		t.Errorf("a backfill starts %v", list)
	}
}
