package gated

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"zerodag"
	"zerodag/integration/server"
)

// stores is a project whose tasks, created in all possible ways, store values, and whose last task prints the values
// that it sees.
var stores = map[string]string{"w.dig": `zerodag: 1
+plain: {sh>: "echo plain=1 >> $ZERODAG_STORE"}
+if:
  if>: true
  _do: {sh>: "echo cond=2 >> $ZERODAG_STORE"}
+each:
  for_each>: {n: [1, 3]}
  _do: {sh>: "echo each=${n} >> $ZERODAG_STORE"}
+loop:
  loop>: 5
  _do: {sh>: "echo loop=${i} >> $ZERODAG_STORE"}
+range:
  for_range>: {from: 0, to: 10, step: 5}
  _do: {sh>: "echo range=${range.from} >> $ZERODAG_STORE"}
+switch:
  switch>: b
  _cases:
    b: {sh>: "echo chosen=6 >> $ZERODAG_STORE"}
+call: {call>: other}
+group:
  _parallel: true
  +a: {sh>: "echo a=8 >> $ZERODAG_STORE"}
  +b:
    +c: {sh>: "echo c=9 >> $ZERODAG_STORE"}
+bad:
  if>: ${why != 'good'}
  _do: {fail>: bad}
+use: {fail>: "saw ${plain} ${cond} ${each} ${loop} ${range} ${chosen} ${call} ${a} ${c}"}
`, "other.dig": "zerodag: 1\n+x:\n  if>: true\n  _do: {sh>: \"echo call=7 >> $ZERODAG_STORE\"}\n"}

const seen = "saw 1 2 3 4 5 6 7 8 9"

// TestResumes checks that with each way to rerun a part of an attempt, tasks see the values stored by the tasks that
// are taken over, on an embedded server.
func TestResumes(t *testing.T) {
	t.Parallel()
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(e.Handler())
	t.Cleanup(func() {
		s.Close()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	remote{url: s.URL}.resumes(t)
}

// TestServerResumes checks the same on the servers of TestServer.
func TestServerResumes(t *testing.T) {
	t.Parallel()
	r, _ := found(t)
	r.resumes(t)
}

func (r remote) resumes(t *testing.T) {
	t.Helper()
	var project struct{ ID string }
	r.must(t, http.MethodPut, fmt.Sprintf("/api/projects?project=resumes-%d&revision=1", os.Getpid()), "application/gzip", server.Pack(stores), &project)
	var list struct{ Workflows []struct{ ID string } }
	r.must(t, http.MethodGet, "/api/projects/"+project.ID+"/workflows?name=w", "", nil, &list)
	start := func(method, path, body string) string {
		var answer struct {
			ID      string
			Attempt struct{ ID string }
		}
		r.must(t, method, path, "application/json", []byte(body), &answer)
		return answer.ID + answer.Attempt.ID
	}
	begin := func(more string) string {
		return start(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-01T00:00:00Z",%s}`, list.Workflows[0].ID, more))
	}
	first := begin(`"params":{"why":"bad"}`)
	if got := r.said(t, first); got["+w+bad^sub"] != "bad" || got["+w+use"] != "" {
		t.Fatalf("the first attempt failed otherwise: %v", got)
	}
	t.Run("modes", func(t *testing.T) { // a group, so that the server lives until all of them have ended
		for i, body := range []string{
			`{"mode":"failed","params":{"why":"good"}}`,
			`{"mode":"failed","markSuccess":["+bad"]}`,
			`{"mode":"failed","until":"+use","params":{"why":"good"}}`,
			`{"mode":"from","from":"+bad","params":{"why":"good"}}`,
			`{"mode":"from","from":"+call","params":{"why":"good"}}`,
			`{"mode":"from","from":"+each","markSuccess":["+bad"]}`,
			`{"mode":"only","only":"+use"}`,
			`{"mode":"all","params":{"why":"good"}}`,
			"",
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				var id string
				if body == "" { // as Digdag's clients do
					id = begin(fmt.Sprintf(`"params":{"why":"good"},"retryAttemptName":"again","resume":{"mode":"failed","attemptId":%q}`, first))
				} else {
					id = start(http.MethodPost, "/api/x/attempts/"+first+"/rerun", body)
				}
				if got := r.said(t, id); got["+w+use"] != seen {
					t.Errorf("%s: %v, want %q", body, got, seen)
				}
			})
		}
	})
}

// said returns the errors of an attempt's tasks, once the attempt has ended.
func (r remote) said(t *testing.T, id string) map[string]string {
	t.Helper()
	r.await(t, id)
	var answer struct {
		Tasks []struct {
			FullName string
			Error    json.RawMessage
		}
	}
	r.must(t, http.MethodGet, "/api/attempts/"+id+"/tasks", "", nil, &answer)
	said := map[string]string{}
	for _, x := range answer.Tasks {
		var e struct{ Message string }
		if json.Unmarshal(x.Error, &e) == nil && e.Message != "" {
			said[strings.TrimSpace(x.FullName)] = e.Message
		}
	}
	return said
}
