package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPlanOfFiles checks that in addition to the mistakes in files, the schedules of their workflows are listed and, if
// requested, the tasks of one workflow with their places, but neither if a workflow cannot be read.
func TestPlanOfFiles(t *testing.T) {
	t.Parallel()
	c := open(t)
	type answer struct {
		Schedules []struct {
			Workflow, Timezone string
			Schedule           object
		}
		Plan *struct {
			All   bool
			Tasks []struct {
				Name   string
				Parent *int
				Makes  bool
				Place  *struct{ Line int }
			}
		}
	}
	ask := func(body string) answer { return convert[answer](t, c.must(http.MethodPost, "/api/x/check", body)) }
	files := `"files":{"a.dig":"timezone: Asia/Tokyo\nschedule:\n  daily>: 03:00:00\n+each:\n  for_each>: {n: [1]}\n  _do:\n    +x: {echo>: x}\n","b.dig":"+b: {echo>: b}\n"`
	got := ask(`{"plan":"a",` + files + `}}`)
	if len(got.Schedules) != 1 || got.Schedules[0].Workflow != "a" || got.Schedules[0].Timezone != "Asia/Tokyo" || got.Schedules[0].Schedule["daily>"] != "03:00:00" {
		t.Errorf("schedules: %+v", got.Schedules)
	}
	var names []string
	for _, p := range got.Plan.Tasks {
		names = append(names, p.Name)
	}
	if each := got.Plan.Tasks[1]; strings.Join(names, " ") != "+a +a+each +a+each^sub+{} +a+each^sub+{}+x" || !got.Plan.All || !each.Makes || *each.Parent != 0 || each.Place.Line != 5 {
		t.Errorf("plan: %v, line %d", names, each.Place.Line)
	}
	if got := ask(`{` + files + `}}`); got.Plan != nil || len(got.Schedules) != 1 {
		t.Errorf("no plan was asked for: %+v", got)
	}
	if got := ask(`{"plan":"a",` + files + `,"c.dig":"+c: [\n"}}`); got.Plan != nil || got.Schedules != nil {
		t.Errorf("a workflow that cannot be read: %+v", got)
	}
	if got := ask(`{"plan":"a","files":{"a.dig":"schedule: {daily>: 07:00:00, note: ` + strings.Repeat("x", 5000) + `}\n+a: {echo>: x}\n"}}`); got.Plan == nil || len(got.Schedules) != 0 {
		t.Errorf("a schedule that is no real one: %+v", got)
	}
}

// TestCheckRefuses checks that a check names the file whose text is missing, and that a start without warnings has an
// empty list of them.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	c := open(t)
	if a := c.call(http.MethodPost, "/api/x/check", `{"files":{"a.dig":null}}`); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), `The file \"a.dig\" is null`) {
		t.Errorf("%d %s", a.status, a.content)
	}
	id := c.push(archive(map[string]string{"a.dig": "+a:\n  echo>: a\n"}))
	workflow := c.must(http.MethodGet, "/api/projects/"+id+"/workflows", nil)["workflows"].([]any)[0].(object)["id"].(string)
	plan := c.must(http.MethodPost, "/api/x/start-check", `{"workflowId":"`+workflow+`","sessionTime":"2026-01-01T00:00:00Z","params":{}}`)
	if list, ok := plan["warnings"].([]any); !ok || len(list) > 0 {
		t.Errorf("warnings: %v, want an empty list", plan["warnings"])
	}
}

// TestCheckOfFiles checks that mistakes in the files of a request are reported with place and remedy, that large
// requests are refused, that the number of findings is limited, and that nothing is stored.
func TestCheckOfFiles(t *testing.T) {
	t.Parallel()
	c := open(t)
	type findings struct {
		All      bool
		Findings []struct {
			File, Task, Code, Message, Hint string
			Line, Column                    int
			Refused                         bool
		}
	}
	ask := func(body string) findings { return convert[findings](t, c.must(http.MethodPost, "/api/x/check", body)) }
	got := ask(`{"files":{"a.dig":"+a:\n  for_eahc>: {n: [1]}\n  _do: {echo>: x}\n","b.dig":"+a: [\n"}}`)
	if len(got.Findings) != 2 || !got.All {
		t.Fatalf("%+v", got)
	}
	if f := got.Findings[0]; f.File != "b.dig" || f.Line == 0 || f.Code != "refused" || !f.Refused {
		t.Errorf("what is no YAML: %+v", f)
	}
	if f := got.Findings[1]; f.File != "a.dig" || f.Line != 2 || f.Column != 3 || f.Code != "doubtful" || f.Refused || !strings.Contains(f.Hint, "for_each") || f.Task != "+a+a" {
		t.Errorf("an operator that there is not: %+v", f)
	}
	if good := ask(`{"files":{"a.dig":"+a: {echo>: \"<img src=x onerror=alert(1)>\"}\n","x.sql":"select"}}`); len(good.Findings) != 0 || !good.All {
		t.Errorf("nothing is wrong: %+v", good)
	}
	var many strings.Builder
	for range 1500 {
		many.WriteString(`digdag.env.store({'a': '${b}'})\n`)
	}
	if f := ask(`{"files":{"a.dig":"+a: {py>: t.f}\n","t.py":"` + many.String() + `"}}`); len(f.Findings) != 1000 || f.All {
		t.Errorf("%d findings, all %v", len(f.Findings), f.All)
	}
	files := map[string]string{}
	for i := range 2001 {
		files[fmt.Sprint(i, ".dig")] = "+a: [\n"
	}
	tooMany, err := json.Marshal(map[string]any{"files": files})
	if err != nil {
		t.Fatal(err)
	}
	for body, status := range map[string]int{`{}`: 400, string(tooMany): 400, `{"files":[]}`: 400, `{"files":{"a.dig":7}}`: 400, `{"files":{"a.dig":"` + strings.Repeat("#", 4<<20) + `"}}`: 413} {
		if a := c.call(http.MethodPost, "/api/x/check", body); a.status != status {
			t.Errorf("%.40s: %d %s, want %d", body, a.status, a.content, status)
		}
	}
	if list := c.must(http.MethodGet, "/api/projects", nil)["projects"].([]any); len(list) != 0 {
		t.Errorf("a check keeps %v", list)
	}
}
