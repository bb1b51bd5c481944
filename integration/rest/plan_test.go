package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const planned = `_export:
  own: 1
schedule:
  daily>: 07:00:00
+load:
  _parallel: true
  +a: {echo>: "${own} ${given} ${session_date} ${last_session_time}"}
  +b:
    for_each>: {n: [1, 2]}
    _do:
      +say: {echo>: "${n} ${deep.er[0]} ${typeof maybe}"}
+choose:
  if>: ${flag}
  _do:
    +yes: {call>: sub}
  _else_do: {echo>: no}
+after:
  require>: other
`

// TestPlan checks that a plan contains the tasks of a workflow with their operators, dependencies and places, marks
// tasks generated at run time, and names the required parameters, and that a task of an attempt also has its place, if
// requested.
func TestPlan(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(archive(map[string]string{"wf.dig": planned, "sub.dig": "+x: {echo>: x}\n+y: {fail>: no}\n", "fails.dig": "\n\n+a:\n  call>: sub\n"}))
	w := c.must(http.MethodGet, "/api/workflow?project=p&name=wf", nil)["id"].(string)
	var p struct {
		Revision string
		All      bool
		Source   bool
		Tasks    []struct {
			Name               string
			Parent             *int
			Upstreams          []int
			Operator, Calls    string
			Group, Makes, Made bool
			Place              *struct {
				File         string
				Line, Column int
			}
		}
		Params []struct{ Name, Task string }
	}
	c.get("/api/x/workflows/"+w+"/plan", &p)
	var got []string
	for i, x := range p.Tasks {
		if x.Parent == nil != (i == 0) {
			t.Errorf("parent of %s: %v", x.Name, x.Parent)
		}
		parent, line := -1, 0
		if x.Parent != nil {
			parent = *x.Parent
		}
		if x.Place != nil {
			line = x.Place.Line
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%s <%d %v %s%s :%d %s", i, strings.TrimPrefix(x.Name, "+wf"), parent, x.Upstreams, x.Operator, map[bool]string{true: " makes"}[x.Makes]+map[bool]string{true: " made"}[x.Made], line, x.Calls)))
	}
	want := []string{
		"0: <-1 []  :0",
		"1:+load <0 []  :5",
		"2:+load+a <1 [] echo :7",
		"3:+load+b <1 [] for_each makes :9",
		"4:+load+b^sub+{} <3 []  made :10",
		"5:+load+b^sub+{}+say <4 [] echo made :11",
		"6:+choose <0 [1] if makes :13",
		"7:+choose^sub <6 []  made :13",
		"8:+choose^sub+yes <7 [] call makes made :15 sub",
		"9:+choose^sub <6 [] echo made :13",
		"10:+after <0 [6] require :18 other",
	}
	if d := gocmp.Diff(want, got); d != "" || !p.All || !p.Source || p.Revision != "r" {
		t.Errorf("all %v, source %v of %s\n%s", p.All, p.Source, p.Revision, d)
	}
	if params := fmt.Sprint(p.Params); params != "[{given +wf+load+a} {deep +wf+load+b+say} {flag +wf+choose}]" {
		t.Errorf("params: %s", params)
	}
	attempt := c.run("p", "fails")
	rows, _ := c.outline(attempt)
	for i, r := range rows {
		if r.name != "+fails+a^sub+y" {
			continue
		}
		path := fmt.Sprintf("/api/x/attempts/%s/tasks/%d", attempt, i)
		if at := c.must(http.MethodGet, path, nil)["place"]; at != nil {
			t.Errorf("a place that nobody asked for: %v", at)
		}
		if d := gocmp.Diff(object{"file": "sub.dig", "line": 2.0, "column": 6.0}, c.must(http.MethodGet, path+"?place=true", nil)["place"]); d != "" {
			t.Errorf("place:\n%s", d)
		}
	}
	if len(rows) < 4 {
		t.Errorf("tasks: %v", rows)
	}
}
