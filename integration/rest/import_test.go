package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestImport checks what every endpoint shows about an attempt that ran on another server, and which attempts and
// schedules are refused.
func TestImport(t *testing.T) {
	t.Parallel()
	c := open(t)
	if c.deployed() {
		t.Skip("NOT RUN on a deployed stack: an owner there is who signs; the store's suite imports on DynamoDB")
	}
	c.push(archive(map[string]string{"wf.dig": "schedule: {daily>: '00:00:00', start: 2200-01-01}\n+a: {echo>: x}\n"}))
	const fine = `"project":"p","workflow":"wf","sessionUuid":"62e102e3-9fb0-49ff-8a00-2310ac8091bb","createdAt":"2024-01-02T00:00:00Z","finishedAt":"2024-01-02T00:00:30Z"`
	attempts := func(list string) answer {
		return c.call(http.MethodPost, "/api/import/attempts", `{"attempts":[`+list+`]}`)
	}
	one := func(more string) string {
		return fmt.Sprintf(`{"id":"7","sessionTime":"2024-01-02T00:00:00Z",%s%s}`, fine, more)
	}
	want := func(what string, a answer, status int, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(string(a.content), text) {
				t.Errorf("%s: got %s, want %s", what, a.content, text)
			}
		}
		if a.status != status {
			t.Errorf("%s: got status %d, want %d: %s", what, a.status, status, a.content)
		}
	}
	want("an import", attempts(one(`,"params":{"k":"${x}"}`)), http.StatusOK, `{"added":1,"present":0,"missing":[],"refused":[]}`)
	want("again", attempts(one("")), http.StatusOK, `{"added":0,"present":1,`)
	id := c.first("/api/attempts")["id"].(string)
	at := "/api/attempts/" + id
	for _, path := range []string{"/api/attempts", at, "/api/sessions"} {
		want(path, c.call(http.MethodGet, path, nil), http.StatusOK, `"imported":true`, `"success":false`, `"finishedAt":"2024-01-02T00:00:30Z"`)
	}
	want("its tasks", c.call(http.MethodGet, at+"/tasks", nil), http.StatusOK, `{"tasks":[]}`)
	want("its logs", c.call(http.MethodGet, "/api/logs/"+id+"/files", nil), http.StatusOK, `{"files":[]}`)
	want("its outline", c.call(http.MethodGet, "/api/x/attempts/"+id+"/outline", nil), http.StatusOK)
	want("its cause", c.call(http.MethodGet, "/api/x/attempts/"+id+"/cause", nil), http.StatusOK, `"task":null`)
	want("its comparison", c.call(http.MethodGet, "/api/x/attempts/"+id+"/comparison", nil), http.StatusOK)
	want("its history", c.call(http.MethodGet, at+"/history", nil), http.StatusNotFound, "its history was not imported")
	want("its past tasks", c.call(http.MethodGet, at+"/history/1/tasks", nil), http.StatusNotFound, "its history was not imported")
	want("a kill", c.call(http.MethodPost, at+"/kill", `{}`), http.StatusConflict)
	want("a pause", c.call(http.MethodPost, at+"/pause", `{}`), http.StatusConflict)
	want("a fork", c.call(http.MethodPost, at+"/fork", `{"seq":1,"retryAttemptName":"x"}`), http.StatusNotFound, "its history was not imported")
	want("a resume", c.call(http.MethodPost, "/api/x/attempts/"+id+"/rerun", `{"mode":"failed"}`), http.StatusBadRequest, "run the session again from the beginning")
	want("a rerun", c.call(http.MethodPost, "/api/x/attempts/"+id+"/rerun", `{"mode":"all"}`), http.StatusOK, `"index":2`)
	want("an attempt of a session that continued here", attempts(one(`,"retryAttemptName":"late"`)), http.StatusOK, `{"added":0,"present":1,`)

	want("other projects", attempts(one(`,"project":"x"`)+","+one(`,"workflow":"y"`)), http.StatusOK,
		`"missing":[{"project":"x","workflow":null,"attempts":1},{"project":"p","workflow":"y","attempts":1}]`)
	for more, why := range map[string]string{
		`,"sessionUuid":"1"`:                      "invalid session UUID",
		`,"sessionTime":"2024-01-02T00:00:00.5Z"`: "a fraction of a second",
		`,"finishedAt":"2024-01-01T00:00:00Z"`:    "it ended before it began",
		`,"finishedAt":"2224-01-01T00:00:00Z"`:    "it ends in the future",
		`,"timezone":"Mars"`:                      "Mars",
		`,"retryAttemptName":"a\nb"`:              "control characters",
	} {
		want(more, attempts(one(more)), http.StatusOK, `"added":0,`, "attempt 7 of workflow wf in project p: ", why)
	}
	want("no session time", attempts(`{`+fine+`}`), http.StatusBadRequest, "[sessionTime]")
	want("null", attempts("null"), http.StatusBadRequest, "not null")
	want("too many", attempts(strings.Repeat("{},", 500)+"{}"), http.StatusBadRequest, "at most 500")

	schedules := func(list, more string) answer {
		return c.call(http.MethodPost, "/api/import/schedules", `{"schedules":[`+list+`]`+more+`}`)
	}
	const next = `{"project":"p","workflow":"wf","nextRunTime":"2200-02-01T00:00:00Z","nextScheduleTime":"2200-02-01T00:00:00Z","disabledAt":"2024-01-01T00:00:00Z"}`
	want("a schedule that is only tried", schedules(next, `,"enabling":"there","dryRun":true`), http.StatusOK, `"disabledAt":"2024-01-01T00:00:00Z"`)
	want("enabled as here", schedules(next, `,"enabling":"here"`), http.StatusOK, `"outcome":"set"`, `"nextRunTime":"2200-02-01T00:00:00Z"`, `"disabledAt":null`)
	want("enabled as there", schedules(next, `,"enabling":"there"`), http.StatusOK, `"disabledAt":"2024-01-01T00:00:00Z"`)
	want("not enabled", schedules(strings.Replace(next, `"2024-01-01T00:00:00Z"`, "null", 1), `,"enabling":"disabled"`), http.StatusOK, `"disabledAt":"2024-01-01T00:00:00Z"`)
	want("an unknown schedule", schedules(strings.Replace(next, `"wf"`, `"x"`, 1), `,"enabling":"here"`), http.StatusOK, `"outcome":"missing","schedule":null`)
	want("no choice", schedules(next, ""), http.StatusBadRequest, "[enabling]")
	want("an unknown choice", schedules(next, `,"enabling":"yes"`), http.StatusBadRequest, "here, there or disabled")
	want("no times", schedules(`{"project":"p","workflow":"wf"}`, `,"enabling":"here"`), http.StatusBadRequest, "[nextRunTime, nextScheduleTime]")
}
