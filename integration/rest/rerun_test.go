package rest_test

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// plan is the response to a dry run of a rerun.
type plan struct {
	Revision      string
	Workflow      object
	Carried, Runs struct {
		Total int
		Rows  []struct {
			Name        string
			Group, Made bool
			Took        int64
			Skipped     string
		}
	}
	Gone int
}

// names returns the names in both lists: tasks that run and tasks that are taken over. Groups end with /, generated
// tasks with *, skipped ones with !.
func (p plan) names() (runs, carried string) {
	var lists [2][]string
	for i, rows := range [][]struct {
		Name        string
		Group, Made bool
		Took        int64
		Skipped     string
	}{p.Runs.Rows, p.Carried.Rows} {
		for _, r := range rows {
			name := strings.TrimPrefix(r.Name, "+wf")
			if r.Group {
				name += "/"
			}
			if r.Made {
				name += "*"
			}
			if r.Skipped != "" {
				name += "!"
			}
			lists[i] = append(lists[i], name)
		}
	}
	return strings.Join(lists[0], " "), strings.Join(lists[1], " ")
}

// dry makes a dry run of a rerun.
func (c caller) dry(attempt, body string) plan {
	c.t.Helper()
	a := c.must(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", strings.TrimSuffix(body, "}")+`,"dryRun":true}`)
	if a["attempt"] != nil {
		c.t.Errorf("a dry run starts %v", a["attempt"])
	}
	return convert[plan](c.t, a["plan"])
}

const half = `+first: {echo>: one}
+each:
  for_each>: {n: [1, 2]}
  _do: {+say: {echo>: "${n}"}}
+bad: {fail>: "${why}"}
+last: {echo>: last}
`

// TestRerun checks that a dry run of each mode names the tasks that a rerun then takes over and runs, that parameters
// override those of the attempt, and that the revision is the attempt's own, the newest, or a named one.
func TestRerun(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": half}))
	w := c.must(http.MethodGet, "/api/workflow?project=p&name=wf", nil)["id"].(string)
	attempt := c.must(http.MethodPut, "/api/attempts", `{"workflowId":"`+w+`","sessionTime":"2024-01-02T00:00:00Z","params":{"why":"no","kept":1}}`)["id"].(string)
	c.ended(attempt)
	c.must(http.MethodPut, "/api/projects?project=p&revision=r2", archive(map[string]string{"wf.dig": "+first: {echo>: one}\n+bad: {echo>: good}\n+new: {echo>: new}\n"}))
	all := "+first +each +bad +last"
	var made []string
	for _, x := range c.must(http.MethodGet, "/api/attempts/"+attempt+"/tasks", nil)["tasks"].([]any) {
		if name := x.(object)["fullName"].(string); strings.Contains(name, "+each^") {
			name = strings.TrimPrefix(name, "+wf")
			if x.(object)["isGroup"] == true {
				name += "/"
			}
			made = append(made, name+"*")
		}
	}
	loops := " " + strings.Join(made, " ")
	for _, q := range []struct{ body, runs, carried, revision string }{
		{`{"mode":"all"}`, all + loops, "", "r"},
		{`{"mode":"failed"}`, "+bad +last", "+first +each" + loops, "r"},
		{`{"mode":"failed","revision":null}`, "+bad +last", "+first +each" + loops, "r"},
		{`{"mode":"from","from":"+each"}`, "+each +bad +last" + loops, "+first", "r"},
		{`{"mode":"from","from":"+last"}`, "", "", "error"},
		{`{"mode":"fork","seq":1}`, all + loops, "", "r"},
		{`{"mode":"failed","revision":""}`, "+bad +new", "+first", "r2"},
		{`{"mode":"only","only":"+last"}`, "+last", "+first +each +bad!" + loops, "r"},
		{`{"mode":"only","only":"+bad","markSuccess":["+last"],"revision":""}`, "+bad", "+first +new!", "error"},
		{`{"mode":"only","only":"+bad","revision":""}`, "+bad", "+first +new!", "r2"},
		{`{"mode":"failed","until":"+bad"}`, "+bad", "+first +each +last!" + loops, "r"},
		{`{"mode":"all","until":"+each"}`, "+first +each" + loops, "+bad! +last!", "r"},
		{`{"mode":"failed","markSuccess":["+bad"]}`, "+last", "+first +each +bad!" + loops, "r"},
		{`{"mode":"from","from":"+bad","markSuccess":["+bad","+last"]}`, "", "+first +each +bad! +last!" + loops, "r"},
		{`{"mode":"all","revision":"r2"}`, "+first +bad +new", "", "r2"},
	} {
		if q.revision == "error" {
			if a := c.call(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", q.body); a.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", q.body, a.status, a.content)
			}
			continue
		}
		p := c.dry(attempt, q.body)
		runs, carried := p.names()
		if d := gocmp.Diff([]string{q.runs, q.carried, q.revision}, []string{runs, carried, p.Revision}); d != "" {
			t.Errorf("%s: %s", q.body, d)
		}
		if p.Gone > 0 != (q.revision == "r2" && carried != "") {
			t.Errorf("%s: %d results have no task", q.body, p.Gone)
		}
	}
	if n := len(c.must(http.MethodGet, "/api/attempts/"+attempt+"/retries", nil)["attempts"].([]any)); n != 1 {
		t.Fatalf("dry runs started %d attempts", n-1)
	}
	a := c.must(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", `{"mode":"failed","params":{"why":"still no"},"retryAttemptName":"again"}`)["attempt"].(object)
	if d := gocmp.Diff(object{"why": "still no", "kept": 1.0}, a["params"].(object)); d != "" || a["retryAttemptName"] != "again" || a["sessionTime"] != "2024-01-02T00:00:00+00:00" {
		t.Errorf("%v\n%s", a, d)
	}
	c.ended(a["id"].(string))
	rows, _ := c.outline(a["id"].(string))
	ran, carried := "", ""
	for i := 2; i <= len(rows); i++ {
		if r := rows[i]; r.runs > 0 {
			ran += strings.TrimPrefix(r.name, "+wf") + " "
		} else if r.state == "success" {
			carried += strings.TrimPrefix(r.name, "+wf") + " "
		}
	}
	if !strings.HasPrefix(ran, "+bad ") || strings.Contains(ran, "+first") || strings.Contains(ran, "+each") || !strings.Contains(carried, "+first ") {
		t.Errorf("ran %q, carried %q", ran, carried)
	}
	part := c.must(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", `{"mode":"only","only":"+last"}`)["attempt"].(object)["id"].(string)
	if c.ended(part)["success"] != true {
		t.Error("the one task that runs does not make the attempt a success")
	}
	if p, _ := c.dry(part, `{"mode":"failed"}`).names(); p != "+bad" {
		t.Errorf("what a part has left out does not run when the part is resumed: %q", p)
	}
	if again := c.call(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", `{"mode":"all","retryAttemptName":"again"}`); again.status != http.StatusConflict || !strings.Contains(string(again.content), `"id":"`+a["id"].(string)+`"`) {
		t.Errorf("a name twice: %d %s", again.status, again.content)
	}
	newest := c.must(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", `{"mode":"failed","revision":""}`)["attempt"].(object)["id"].(string)
	if c.ended(newest)["success"] != true {
		t.Error("the newest revision does not mend it")
	}
	for body, status := range map[string]int{`{}`: 400, `{"mode":"some"}`: 400, `{"mode":"from"}`: 400, `{"mode":"fork"}`: 400, `{"mode":"all","seq":1}`: 400, `{"mode":"failed","from":"+a"}`: 400,
		`{"mode":"fork","seq":999}`: 404, `{"mode":"all","revision":"nosuch"}`: 404, `{"mode":"from","from":"+nosuch"}`: 400, `{"mode":"all","params":[]}`: 400,
		`{"mode":"only"}`: 400, `{"mode":"all","only":"+bad"}`: 400, `{"mode":"only","only":""}`: 400, `{"mode":"only","only":"+nosuch"}`: 400, `{"mode":"only","only":"+wf"}`: 400,
		`{"mode":"only","only":"+bad","until":"+bad"}`: 400, `{"mode":"fork","seq":1,"until":"+bad"}`: 400, `{"mode":"fork","seq":1,"markSuccess":["+bad"]}`: 400,
		`{"mode":"all","until":""}`: 400, `{"mode":"all","markSuccess":"+bad"}`: 400, `{"mode":"all","markSuccess":["+nosuch"]}`: 400, `{"mode":"all","markSuccess":[[]]}`: 400} {
		if a := c.call(http.MethodPost, "/api/x/attempts/"+attempt+"/rerun", body); a.status != status {
			t.Errorf("%s: %d %s, want %d", body, a.status, a.content, status)
		}
	}
	if a := c.call(http.MethodPost, "/api/x/attempts/"+newest+"/rerun", `{"mode":"failed","dryRun":true}`); a.status != http.StatusBadRequest {
		t.Errorf("resume of a success: %d %s", a.status, a.content)
	}
}

// TestRerunFromOutside checks that in a rerun, parameters of a user who may not push override those of a user who may,
// but remain data, so that they cannot determine what a task does; that a dry run also reports this; and that a rerun
// is recorded but a dry run is not.
func TestRerunFromOutside(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	admin, operator := caller{server, t, server.token(t, 0, "admin")}, caller{server, t, server.token(t, 0, "operator")}
	admin.push(archive(map[string]string{"wf.dig": "+a: {echo>: \"own=${own} given=${given}\"}\n"}))
	w := admin.must(http.MethodGet, "/api/workflow?project=p&name=wf", nil)["id"].(string)
	first := admin.must(http.MethodPut, "/api/attempts", `{"workflowId":"`+w+`","sessionTime":"2024-01-02T00:00:00Z","params":{"own":"${1 + 1}","given":""}}`)["id"].(string)
	admin.ended(first)
	path := "/api/x/attempts/" + first + "/rerun"
	for _, dry := range []string{"", `,"dryRun":true`} {
		if a := operator.call(http.MethodPost, path, `{"mode":"all","params":{"shell":["evil"]}`+dry+`}`); a.status != http.StatusForbidden {
			t.Errorf("what steers a task%s: %d %s", dry, a.status, a.content)
		}
	}
	second := operator.must(http.MethodPost, path, `{"mode":"all","params":{"given":"${3 + 4}"}}`)["attempt"].(object)["id"].(string)
	admin.ended(second)
	file := admin.must(http.MethodGet, "/api/logs/"+second+"/files", nil)["files"].([]any)[0].(object)["fileName"].(string)
	if text := admin.must(http.MethodGet, "/api/x/logs/"+second+"/files/"+file, nil)["text"].(string); !strings.Contains(text, "own=${1 + 1} given=${3 + 4}") {
		t.Errorf("the log: %s", text)
	}
	operator.must(http.MethodPost, path, `{"mode":"all","dryRun":true}`)
	recorded := ""
	for _, r := range admin.must(http.MethodGet, "/api/audit", nil)["audits"].([]any) {
		if r := r.(object); r["action"] == "rerun" && r["detail"] == nil {
			recorded += r["target"].(string) + ";"
		}
	}
	if recorded != "attempt "+first+" as attempt "+second+";" {
		t.Errorf("recorded: %s", recorded)
	}
}
