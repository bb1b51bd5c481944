package gated

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"zerodag"
	"zerodag/engine/dig"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into the files; read the diff before you keep it")

// fewest is less than the number of files, so that a glob that finds nothing fails the test.
const fewest = 20

// eachFile calls f for each file of a folder, with its parts.
func eachFile(t *testing.T, folder string, f func(t *testing.T, name string, a *txtar.Archive)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(names) < fewest {
		t.Fatalf("%d files in %s: %v", len(names), folder, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f(t, name, a)
		})
	}
}

// compare compares the result with `want`, which is the last file.
func compare(t *testing.T, name string, a *txtar.Archive, got string) {
	t.Helper()
	want := &a.Files[len(a.Files)-1]
	if want.Name != "want" {
		t.Fatalf("%s: the last file must be `want`, not %s", name, want.Name)
	}
	if string(want.Data) == got {
		return
	}
	if *rewrite {
		want.Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: %s\n%s", name, strings.TrimSpace(string(a.Comment)), cmp.Diff(string(want.Data), got))
}

// TestCases checks the result of each project.
func TestCases(t *testing.T) {
	t.Parallel()
	eachFile(t, "cases", func(t *testing.T, name string, a *txtar.Archive) {
		compare(t, name, a, run(t, a))
	})
}

// TestBad checks that each mistake is reported once, with its place and a remedy.
func TestBad(t *testing.T) {
	t.Parallel()
	eachFile(t, "bad", func(t *testing.T, name string, a *txtar.Archive) {
		files := map[string][]byte{}
		var workflows []string
		for _, f := range a.Files[:len(a.Files)-1] {
			files[f.Name] = f.Data
			if strings.HasSuffix(f.Name, ".dig") {
				workflows = append(workflows, f.Name)
			}
		}
		_, err := dig.Load(func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return text, nil
			}
			return nil, dig.ErrNotFound
		}, workflows)
		var list dig.Errors
		if !errors.As(err, &list) || len(list) != 1 {
			t.Fatalf("%s: there must be one error: %v", name, err)
		}
		if list[0].Line == 0 || list[0].Hint == "" {
			t.Errorf("%s: the error has no place or no remedy: %#v", name, list[0])
		}
		compare(t, name, a, err.Error()+"\n")
	})
}

// project returns the files of a case, the name of its first workflow, and the parameters of `params.json`.
func project(t *testing.T, a *txtar.Archive) (files map[string]string, workflow string, params map[string]any) {
	t.Helper()
	files = map[string]string{}
	for _, f := range a.Files[:len(a.Files)-1] {
		if workflow == "" && strings.HasSuffix(f.Name, ".dig") {
			workflow = strings.TrimSuffix(f.Name, ".dig")
		}
		if f.Name == "params.json" {
			if err := json.Unmarshal(f.Data, &params); err != nil {
				t.Fatal(err)
			}
			continue
		}
		files[f.Name] = string(f.Data)
	}
	return files, workflow, params
}

// run runs the first workflow of a project on an embedded server, and returns its result.
func run(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	files, workflow, params := project(t, a)
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil { //nolint:gosec // scripts are run
			t.Fatal(err)
		}
	}
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := e.Push(t.Context(), folder, "p", "1"); err != nil {
		t.Fatal(err)
	}
	id, err := e.Start(t.Context(), zerodag.Start{Project: "p", Workflow: workflow, Params: params})
	if err != nil && params != nil {
		return "refused: " + strings.TrimPrefix(err.Error(), "start: ") + "\n"
	}
	if err != nil {
		t.Fatal(err)
	}
	var failed *zerodag.Failure
	if err := e.Wait(t.Context(), id); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return ended(func(path string, into any) { get(t, e.Handler(), path, into) }, strconv.FormatInt(id, 10))
}

// ended returns the result of an attempt that has ended, from the data of the API.
func ended(get func(path string, into any), id string) string {
	var attempt struct {
		Success bool
		Outputs json.RawMessage
	}
	get("/api/attempts/"+id, &attempt)
	lines := []string{"failed"}
	if attempt.Success {
		lines[0] = "success"
	}
	if attempt.Outputs != nil {
		lines = append(lines, "outputs: "+string(attempt.Outputs))
	}
	return strings.Join(append(lines, tasks(get, id)...), "\n") + "\n"
}

type task struct {
	FullName, State, Skipped string
	IgnoredError             bool
	Error                    struct{ Message string }
	StoreParams              json.RawMessage
}

// tasks returns the tasks of an attempt, one per line.
func tasks(get func(path string, into any), id string) (lines []string) {
	var answer struct{ Tasks []task }
	get("/api/attempts/"+id+"/tasks", &answer)
	for _, x := range answer.Tasks {
		line := x.FullName + ": " + x.State
		if x.Skipped != "" {
			line += ", skipped: " + x.Skipped
		}
		if x.IgnoredError {
			line += ", ignored"
		}
		if x.Error.Message != "" {
			line += ", error: " + strings.TrimSpace(x.Error.Message)
		}
		if stored := string(x.StoreParams); stored != "{}" {
			line += ", stored: " + stored
		}
		lines = append(lines, line)
	}
	return lines
}

func get(t *testing.T, api http.Handler, path string, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, w.Code, err)
	}
}
