package dig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
)

// recordedTask is a task as the REST API showed it.
type recordedTask struct {
	FullName  string     `json:"fullName"`
	IsGroup   bool       `json:"isGroup"`
	Parent    string     `json:"parent"`
	Upstreams []string   `json:"upstreams"`
	Config    *param.Map `json:"config"`
}

type recordedAttempts struct {
	Attempts map[string]struct {
		Tasks []recordedTask `json:"tasks"`
	} `json:"attempts"`
}

// TestRecordedTasks compares compiled trees with the static tasks of recorded attempts.
func TestRecordedTasks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(casesFolder, "*", "case.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings under %s: %v", casesFolder, err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var run struct {
				Workflow  string `json:"workflow"`
				InProcess bool   `json:"in_process"`
			}
			var want recordedAttempts
			readJSON(t, file, &run)
			readJSON(t, filepath.Join(folder, "expected.json"), &want)
			if !run.InProcess || len(want.Attempts) == 0 {
				return // several revisions or workflows: not one tree to compare
			}
			got := compiledTasks(t, folder, run.Workflow)
			for _, a := range want.Attempts {
				if diff := cmp.Diff(staticTasks(a.Tasks), got, cmp.Comparer(func(a, b *param.Map) bool { return param.Equal(a, b) })); diff != "" {
					t.Errorf("tasks differ (-recorded +ours):\n%s", diff)
				}
			}
		})
	}
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// staticTasks drops generated tasks; the copies that a group retry creates count as the same task.
func staticTasks(tasks []recordedTask) map[string]recordedTask {
	static := map[string]recordedTask{}
	for _, task := range tasks {
		if !strings.Contains(task.FullName, "^") {
			static[task.FullName] = task
		}
	}
	return static
}

func compiledTasks(t *testing.T, folder, workflow string) map[string]recordedTask {
	t.Helper()
	list, err := Load(folderSource(folder), []string{workflow + Suffix})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Tree(workflow, list[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]recordedTask{}
	for _, n := range nodes {
		task := recordedTask{FullName: n.Name, IsGroup: n.Group, Upstreams: []string{}, Config: n.Config}
		if n.Parent != noParent {
			task.Parent = nodes[n.Parent].Name
		}
		for _, up := range n.Upstreams {
			task.Upstreams = append(task.Upstreams, nodes[up].Name)
		}
		if n.Export.Len() > 0 {
			task.Config = n.Config.Clone()
			task.Config.Set("_export", n.Export)
		}
		tasks[n.Name] = task
	}
	return tasks
}
