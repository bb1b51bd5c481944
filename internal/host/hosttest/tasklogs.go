package hosttest

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/operators"
)

// taskLogsSuite checks a host.Logs.
func taskLogsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"one file for each run":      logsFile,
		"read a growing file":        logsLive,
		"invalid names are rejected": logsNames,
	}.Run(t, h)
}

// run returns the identity of a task run, and its attempt.
func run(task string) (operators.Identity, host.Attempt) {
	tokyo := time.FixedZone("", 9*3600)
	id := operators.Identity{SiteID: 1, ProjectID: 2, ProjectName: "demo", Workflow: "sub/main", SessionID: 3, SessionTime: suite.Instant(0).In(tokyo), Zone: "Asia/Tokyo",
		AttemptID: 4, RetryAttemptName: "again/1", TaskID: 5, TaskName: task, Dispatch: 1}
	return id, host.Attempt{ID: 4, Site: 1, Project: host.Ref{ID: 2, Name: "demo"}, Workflow: host.Ref{ID: 9, Name: "sub/main"}, SessionTime: suite.Instant(0), RetryName: "again/1",
		Zone: "Asia/Tokyo", CreatedAt: suite.Instant(60)}
}

// content unpacks a log file.
func content(t *testing.T, s suite.Stores, a host.Attempt, name string) string {
	t.Helper()
	r, size, err := s.Logs.File(t.Context(), a, name)
	packed := readAll(t, r, size, err)
	text, err := gzip.NewReader(bytes.NewReader([]byte(packed)))
	suite.Must(t, err)
	return string(suite.Got(io.ReadAll(text))(t))
}

func logsFile(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	var a host.Attempt
	for _, task := range []string{"+main+b", "+main+a", "+main+silent"} {
		id, of := run(task)
		a = of
		l := s.Logs.Open(id, a.CreatedAt)
		if task != "+main+silent" {
			l.Line(operators.Info, "OperatorManager", "echo>: hello")
			l.Echo("hello")
			l.Write([]byte("raw\n"))
		}
		suite.Must(t, l.Close())
	}
	list := suite.Got(s.Logs.Files(ctx, a, ""))(t)
	if len(list) != 2 || list[0].TaskName != "+main+a" || list[1].TaskName != "+main+b" || list[0].AgentID == "" || list[0].Size == 0 || s.Now().Sub(list[0].Time).Abs() > time.Hour {
		t.Fatalf("got files %+v", list)
	}
	text := content(t, s, a, list[0].Name)
	if head, rest, _ := strings.Cut(text, "[INFO] "); len(head) != len("2026-01-02 03:04:05.006 +0000 ") || rest != "+main+a: echo>: hello\nhelloraw\n" {
		t.Errorf("got log %q", text)
	}
	if list := suite.Got(s.Logs.Files(ctx, a, "+main+b"))(t); len(list) != 1 || list[0].TaskName != "+main+b" {
		t.Errorf("got files %+v for +main+b", list)
	}
	a.ID, a.RetryName = 99, ""
	if list := suite.Got(s.Logs.Files(ctx, a, ""))(t); len(list) != 0 {
		t.Errorf("got files %+v of another attempt, want none", list)
	}
}

func logsLive(t *testing.T, s suite.Stores) {
	id, a := run("+main+a")
	l := s.Logs.Open(id, a.CreatedAt)
	l.Write([]byte("first\n"))
	shown := func(want string) {
		t.Helper()
		for begin := s.Now(); ; {
			list := suite.Got(s.Logs.Files(t.Context(), a, ""))(t)
			if len(list) == 1 && content(t, s, a, list[0].Name) == want {
				return
			}
			if s.Now().Sub(begin) > 10*time.Second { // normally a tenth of a second, unless the machine is busy
				t.Fatalf("the file does not contain %q", want)
			}
			<-time.After(time.Millisecond)
		}
	}
	shown("first\n")
	l.Write([]byte("second\n"))
	shown("first\nsecond\n")
	l.Echo("third")
	suite.Must(t, l.Close())
	suite.Must(t, l.Close())
	l.Echo("after the end")
	shown("first\nsecond\nthird")
}

func logsNames(t *testing.T, s suite.Stores) {
	id, a := run("+main+../../x/y")
	l := s.Logs.Open(id, a.CreatedAt)
	l.Echo("x")
	suite.Must(t, l.Close())
	list := suite.Got(s.Logs.Files(t.Context(), a, ""))(t)
	if len(list) != 1 || strings.Contains(list[0].Name, "/") {
		t.Fatalf("got files %+v", list)
	}
	for _, name := range []string{"", "..", "../" + list[0].Name, "x/" + list[0].Name, "+main+a", list[0].Name + "x", "+main+a@0000000000000000.agent.log.gz"} {
		_, _, err := s.Logs.File(t.Context(), a, name)
		suite.WantError(t, "file "+name, err, host.ErrNotFound)
	}
}
