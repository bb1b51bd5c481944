package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/client"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// failing is a server with one attempt that runs for some polls and then fails in a task of three tries.
type failing struct {
	polls int
	form  tasklog.Form
}

func (s *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/attempts/7":
		over := s.polls == 0
		if !over {
			s.polls--
		}
		end := "null"
		status := "running"
		if over {
			end, status = `"2024-01-01T00:00:05Z"`, "error"
		}
		fmt.Fprintf(w, `{"id":"7","project":{"name":"p"},"workflow":{"name":"w"},"done":%t,"success":false,"status":%q,"createdAt":"2024-01-01T00:00:00Z","finishedAt":%s}`, over, status, end)
	case "/api/attempts/7/tasks":
		fmt.Fprint(w, `{"tasks":[{"id":"1","fullName":"+w","isGroup":true,"state":"group_error","error":{},"updatedAt":"2024-01-01T00:00:05Z"},
			{"id":"2","fullName":"+w+a","state":"success","logIncomplete":true,"error":{},"updatedAt":"2024-01-01T00:00:01Z"},
			{"id":"3","fullName":"+w+b","state":"error","stateParams":{"retry_count":2},"error":{"message":"Command failed with code 3 (runtime)"},"startedAt":"2024-01-01T00:00:02Z","updatedAt":"2024-01-01T00:00:04Z"}]}`)
	case "/api/logs/7/files":
		file := func(task string, second int) string {
			return fmt.Sprintf(`{"fileName":"%s.%d","taskName":%q,"fileSize":100,"fileTime":"2024-01-01T00:00:0%dZ","direct":null}`, task, second, task, second)
		}
		fmt.Fprintf(w, `{"files":[%s]}`, strings.Join([]string{file("+w+a", 1), file("+w+b", 2), file("+w+b", 3), file("+w+b", 4), file("+w+b2", 5)}, ","))
	default:
		name := strings.TrimPrefix(r.URL.Path, "/api/logs/7/files/")
		task, second, _ := strings.Cut(name, ".")
		level := "INFO"
		if second > "2" {
			level = "DEBUG" // as the heading of a further try
		}
		line := func(level, logger, text string) string {
			at := time.Date(2024, 1, 1, 0, 0, int(second[0]-'0'), 0, time.UTC)
			id := operators.Identity{TaskID: 1, ProjectName: "p", SessionID: 1, AttemptID: 7, TaskName: task}
			return s.form.Line(at, operators.Level(level), s.form.Source(id), logger, text)
		}
		text := line(level, "OperatorManager", "sh>: work")
		for i := range 12 {
			text += fmt.Sprintf("try at %s says %d\n", second, i)
		}
		if task == "+w+b" {
			text += line("DEBUG", "Other", "not for people") + line("ERROR", "OperatorManager", "Task failed")
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		w.Write(b.Bytes())
	}
}

// opened is a remote of the server; what it prints goes to out and said.
func (s *failing) opened(t *testing.T) (r remote, out, said *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	connection, err := client.New(client.Options{Endpoint: server.URL, Wait: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	out, said = new(bytes.Buffer), new(bytes.Buffer)
	return remote{streams: streams{out: out, err: said}, format: textForm, Client: connection}, out, said
}

// TestOutcome proves that who waits for an attempt that fails is told which task failed, why, the last
// that its last try printed, and what runs the rest, and that the program ends with an error.
func TestOutcome(t *testing.T) {
	t.Parallel()
	r, out, said := (&failing{polls: 2}).opened(t)
	if err := (&waitFlags{wait: true}).until(t.Context(), &r, client.Attempt{ID: "7"}); !errors.Is(err, errShown) {
		t.Errorf("it ends with %v", err)
	}
	want := "Attempt 7 of p/w: error after 5s\n  +w+b (3 tries): Command failed with code 3 (runtime)\n"
	for i := 2; i < 12; i++ {
		want += fmt.Sprintf("    | try at 4 says %d\n", i)
	}
	want += "Mend it, push it, and go on with: zerodag retry 7 --latest-revision --resume\n"
	if diff := cmp.Diff(want, said.String()); diff != "" || out.Len() > 0 {
		t.Errorf("%s\n%s", diff, out)
	}
}

// TestLogForPeople proves that each line stands beside its task, that every try shows what it printed
// under a heading of its own, and that of the engine's own lines those of level debug are left out.
func TestLogForPeople(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		follow bool
		form   tasklog.Form
	}{{false, tasklog.Short}, {true, tasklog.Short}, {false, tasklog.Digdag}, {true, tasklog.Digdag}} {
		follow := x.follow
		r, out, said := (&failing{polls: 1, form: x.form}).opened(t)
		c := &logCommand{remote: r, follow: follow, files: map[string]*logRead{}}
		err := c.showLog(t.Context(), "7", "")
		if follow != errors.Is(err, errShown) || !follow && err != nil {
			t.Errorf("follow %v: %v", follow, err)
		}
		if want := "warning: the log of +w+a is incomplete: some of it could not be stored\n"; follow && !strings.HasPrefix(said.String(), want) {
			t.Errorf("follow %v: it says %q, want %q first", follow, said, want)
		}
		text := out.String()
		for _, want := range []string{"+w+b  | ", "sh>: work\n", "try 2 sh>: work\n", "try 3 sh>: work\n", "+w+b  | try at 2 says 0\n", "+w+b  | try at 4 says 11\n", "+w+b  | Task failed\n", "+w+b2 | try at 5 says 3\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("follow %v: %q is missing:\n%s", follow, want, text)
			}
		}
		if strings.Contains(text, "not for people") || strings.Contains(text, "io.digdag") {
			t.Errorf("follow %v: it shows what is for programs:\n%s", follow, text)
		}
		if n := strings.Count(text, "\n"); n != 5*13+3 {
			t.Errorf("follow %v: %d lines:\n%s", follow, n, text)
		}
		if told := strings.Contains(said.String(), "Attempt 7 of p/w: error"); told != follow {
			t.Errorf("follow %v: %s", follow, said)
		}
	}
}

// TestTaskTable proves that a list of tasks shows tries and errors.
func TestTaskTable(t *testing.T) {
	t.Parallel()
	r, _, _ := (&failing{}).opened(t)
	tasks, err := r.Tasks(t.Context(), "7")
	if err != nil {
		t.Fatal(err)
	}
	text := taskTable(time.Now(), tasks).text(false, 0, palette{})
	line := strings.Fields(strings.Split(text, "\n")[3])
	if diff := cmp.Diff([]string{"3", "+w+b", "error", "3", "2024-01-01", "00:00:02Z", "2s", "Command", "failed", "with", "code", "3", "(runtime)"}, line); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

// TestStatusParts proves which schedules are late and which come next, and that a long list is read page by
// page until the rest is too old, or too much.
func TestStatusParts(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	schedule := func(id int, in time.Duration) client.Schedule {
		return client.Schedule{ID: client.ID(fmt.Sprint(id)), NextRunTime: now.Add(in)}
	}
	off := schedule(3, -time.Hour)
	off.DisabledAt = &now
	var s status
	s.divide([]client.Schedule{schedule(1, time.Hour), schedule(2, -time.Hour), off, schedule(4, -30*time.Second)}, now)
	if len(s.Late) != 1 || s.Late[0].ID != "2" || len(s.Next) != 2 || s.Next[0].ID != "4" {
		t.Errorf("late %v, next %v", s.Late, s.Next)
	}
	for _, c := range []struct {
		all, old, page, reads int
		cut                   bool
	}{{250, 120, 100, 2, false}, {50, 100, 100, 2, false}, {5000, 5000, 100, 10, true}, {70, 100, 30, 4, false}} {
		reads, seen := 0, 0
		cut, err := pages(func(p client.Page) ([]int, error) {
			reads++
			list := make([]int, min(p.Count, c.page, c.all-seen))
			return list, nil
		}, func(int) (client.ID, bool) { seen++; return "1", seen > c.old })
		if err != nil || cut != c.cut || reads != c.reads {
			t.Errorf("%+v: %d pages, cut %v: %v", c, reads, cut, err)
		}
	}
}

// sources is a server with a workflow, some of whose files it hands out.
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

// TestFailuresHaveTheirPlace proves that a task that failed is found in the files of its revision, each read once, with
// the names that it sees, and that a server without them, and a file that is gone, no text or too large, only leave the place out.
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
		failed := []failure{{task: client.Task{FullName: "+w+a^sub+x"}, message: "y"}, {task: client.Task{FullName: "+w+c"}, message: "z"}}
		r.place(t.Context(), client.Attempt{Project: client.Ref{ID: "2", Name: "p"}, Workflow: client.Ref{ID: "3", Name: "w"}}, failed)
		if diff := cmp.Diff(c.want, []string{failed[0].place, failed[1].place}); diff != "" || len(server.asked) > c.asked || server.asked[0] != "w.dig?revision=r+1" {
			t.Errorf("%s: %s, asked for %q", name, diff, server.asked)
		}
		if far := failed[0].names["far"]; name == "files" && far.String() != "w.dig:5:11" || c.want[0] == "" && len(failed[0].names) > 0 {
			t.Errorf("%s: the task sees the names %v", name, failed[0].names)
		}
	}
	r, _ := openedAt(t, http.NotFoundHandler(), func(context.Context, time.Duration) error { return nil })
	failed := []failure{{task: client.Task{FullName: "+w+c"}}}
	r.place(t.Context(), client.Attempt{Workflow: client.Ref{ID: "3"}}, failed)
	r.place(t.Context(), client.Attempt{}, failed) // of a workflow that is not stored
	if failed[0].place != "" {
		t.Errorf("found at %s", failed[0].place)
	}
}
