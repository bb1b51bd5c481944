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

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/tasklog"
	"zerodag/internal/term"
	"zerodag/operators"
)

// failing is a server with one attempt that runs for some polls and then fails in a task with three tries.
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
			level = "DEBUG" // as the heading of another try
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

// opened returns a remote of the server, and the buffers out and said for its output.
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
	return remote{cli.Remote{Streams: cli.Streams{Out: out, Err: said, ProgramVersion: version()}, Format: cli.TextForm, Client: connection}}, out, said
}

// TestOutcome checks that a command that waits for an attempt that fails prints which task failed, the reason, the last
// output of its last try, and a command that runs the rest, and that the program ends with an error.
func TestOutcome(t *testing.T) {
	t.Parallel()
	r, out, said := (&failing{polls: 2}).opened(t)
	if err := (&waitFlags{wait: true}).until(t.Context(), &r, client.Attempt{ID: "7"}); !errors.Is(err, program.ErrShown) {
		t.Errorf("it ends with %v", err)
	}
	want := "Attempt 7 of p/w: error after 5s\n  +w+b (3 tries): Command failed with code 3 (runtime)\n"
	for i := 2; i < 12; i++ {
		want += fmt.Sprintf("    | try at 4 says %d\n", i)
	}
	want += "Fix it, push it, then resume with: zerodag retry 7 --latest-revision --resume\n"
	if diff := cmp.Diff(want, said.String()); diff != "" || out.Len() > 0 {
		t.Errorf("%s\n%s", diff, out)
	}
}

// TestLogForPeople checks that each line is shown next to its task, that the output of every try has a separate
// heading, and that the engine's own lines of level debug are omitted.
func TestLogForPeople(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		follow bool
		form   tasklog.Form
	}{{false, tasklog.Short}, {true, tasklog.Short}, {false, tasklog.Digdag}, {true, tasklog.Digdag}} {
		follow := x.follow
		r, out, said := (&failing{polls: 1, form: x.form}).opened(t)
		c := &logCommand{remote: r, follow: follow}
		err := c.showLog(t.Context(), "7", "")
		if follow != errors.Is(err, program.ErrShown) || !follow && err != nil {
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

// TestTaskTable checks that a list of tasks shows tries and errors.
func TestTaskTable(t *testing.T) {
	t.Parallel()
	r, _, _ := (&failing{}).opened(t)
	tasks, err := r.Tasks(t.Context(), "7")
	if err != nil {
		t.Fatal(err)
	}
	text := taskTable(time.Now(), tasks).Text(false, 0, term.Palette{})
	line := strings.Fields(strings.Split(text, "\n")[3])
	if diff := cmp.Diff([]string{"3", "+w+b", "error", "3", "2024-01-01", "00:00:02Z", "2s", "Command", "failed", "with", "code", "3", "(runtime)"}, line); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}
