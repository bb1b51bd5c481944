package attemptview

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/client"
)

// sources is a server that has a workflow and serves some of the workflow's files.
type sources struct {
	files map[string]string // JSON of the text, by path
	asked []string
}

func (s *sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/workflows/3" {
		fmt.Fprint(w, `{"id":"3","name":"w","revision":"r 1"}`)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/x/projects/2/files/")
	s.asked = append(s.asked, name+"?"+r.URL.RawQuery)
	text, known := s.files[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, `{"path":"x","revision":"r 1","size":1,"text":%s}`, text)
}

// TestFailuresHaveTheirPlace proves that a failed task is found in its revision's files, each read once, with the names
// that it can use. If the server does not serve them, or a file is missing, is not text or is too large, only the place
// is omitted.
func TestFailuresHaveTheirPlace(t *testing.T) {
	t.Parallel()
	main := `"+a:\n  call>: sub/b\n+c:\n  sh>: x\n_export: {far: 1}\n"`
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		asked int
	}{
		"files":           {map[string]string{"w.dig": main, "sub/b.dig": `"\n+x: {fail>: y}\n"`}, []string{"sub/b.dig:2:6", "w.dig:4:3"}, 2},
		"no callee":       {map[string]string{"w.dig": main}, []string{"w.dig:2:3", "w.dig:4:3"}, 2},
		"none":            {nil, []string{"", ""}, 1},
		"too large":       {map[string]string{"w.dig": "null"}, []string{"", ""}, 1},
		"not what failed": {map[string]string{"w.dig": `"- a"`}, []string{"", ""}, 1},
	} {
		server := &sources{files: c.files}
		r, _ := openedAt(t, server, func(context.Context, time.Duration) error { return nil })
		failed := []Failure{{task: client.Task{FullName: "+w+a^sub+x"}, message: "y"}, {task: client.Task{FullName: "+w+c"}, message: "z"}}
		r.place(t.Context(), client.Attempt{Project: client.Ref{ID: "2", Name: "p"}, Workflow: client.Ref{ID: "3", Name: "w"}}, failed)
		if diff := cmp.Diff(c.want, []string{failed[0].place, failed[1].place}); diff != "" || len(server.asked) > c.asked || server.asked[0] != "w.dig?revision=r+1" {
			t.Errorf("%s: %s, asked for %q", name, diff, server.asked)
		}
		if far := failed[0].names["far"]; name == "files" && far.String() != "w.dig:5:11" || c.want[0] == "" && len(failed[0].names) > 0 {
			t.Errorf("%s: the task sees the names %v", name, failed[0].names)
		}
	}
	r, _ := openedAt(t, http.NotFoundHandler(), func(context.Context, time.Duration) error { return nil })
	failed := []Failure{{task: client.Task{FullName: "+w+c"}}}
	r.place(t.Context(), client.Attempt{Workflow: client.Ref{ID: "3"}}, failed)
	r.place(t.Context(), client.Attempt{}, failed) // its workflow is not stored
	if failed[0].place != "" {
		t.Errorf("found at %s", failed[0].place)
	}
}
