package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"zerodag/integration/stack"
)

// sent is one server-sent event.
type sent struct {
	name string
	data object
}

// stream reads a stream of events.
type stream struct {
	t        *testing.T
	lines    *bufio.Scanner
	position string // the last id
	close    func()
}

func (c caller) follow(attempt, position string) *stream {
	c.t.Helper()
	return c.stream("/api/attempts/"+attempt+"/events", position)
}

// stream opens a stream of events.
func (c caller) stream(path, position string) *stream {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("Last-Event-ID", position)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		c.t.Fatalf("stream: %d %s", response.StatusCode, got)
	}
	s := &stream{t: c.t, lines: bufio.NewScanner(response.Body), close: func() { cancel(); _ = response.Body.Close() }}
	s.lines.Buffer(nil, 1<<20)
	c.t.Cleanup(s.close)
	return s
}

// next returns the next event, or false at the end of the stream.
func (s *stream) next() (e sent, more bool) {
	for s.lines.Scan() {
		line := s.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "id":
			s.position = value
		case name == "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatal(err)
			}
		case line == "" && e.name != "":
			return e, true
		}
	}
	return e, false
}

// until reads up to an event that found accepts and returns all events; it fails if there is none.
func (s *stream) until(found func(sent) bool) []sent {
	s.t.Helper()
	var all []sent
	for {
		e, more := s.next()
		if !more {
			s.t.Fatalf("the stream ended after %v", all)
		}
		all = append(all, e)
		if found(e) {
			return all
		}
	}
}

// round reads to the end of the current round and returns its position.
func (s *stream) round() string {
	for s.lines.Scan() {
		if position, ok := strings.CutPrefix(s.lines.Text(), "id: "); ok {
			return position
		}
	}
	s.t.Fatal("the stream ended within a round")
	return ""
}

// logText assembles a task's log from the events of a stream.
func logText(events []sent, task string) string {
	var text strings.Builder
	for _, e := range events {
		if e.name == "log" && e.data["task"] == task {
			text.WriteString(e.data["text"].(string))
		}
	}
	return text.String()
}

// steps returns a project whose tasks wait for files, so that a test decides when they continue.
func steps(folder string) []byte {
	return archive(map[string]string{"wf.dig": "+a:\n  sh>: echo one; until test -e " + folder + "/go; do sleep 0.01; done; echo two\n+b:\n  echo>: three\n"})
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEvents checks that a stream sends the attempt, its tasks and their logs as they happen, that it continues where a
// client left it, and that it ends with the attempt.
func TestEvents(t *testing.T) {
	t.Parallel()
	stack.NeedsServer(t, "a command decides when the test goes on; TestEventsInParts of integration/stack does without")
	c := open(t)
	folder := t.TempDir()
	c.must(http.MethodPut, "/api/projects?project=p&revision=r", steps(folder))
	attempt := c.start("p", "wf", "2024-01-02T00:00:00Z")
	s := c.follow(attempt, "")
	begin := s.until(func(e sent) bool { return e.name == "log" && strings.Contains(e.data["text"].(string), "one\n") })
	names := map[string]bool{}
	for _, e := range begin {
		names[e.name] = true
		if e.name == "task" {
			names[e.data["fullName"].(string)] = true
		}
	}
	if !names["attempt"] || !names["+wf"] || !names["+wf+a"] || !names["+wf+b"] {
		t.Errorf("told at first: %v", names)
	}
	position := s.round()
	s.close()
	write(t, folder+"/go")
	c.goesOn(attempt, position)
}

// goesOn checks the rest of the stream that begins at a position.
func (c caller) goesOn(attempt, position string) {
	t := c.t
	s := c.follow(attempt, position)
	rest := s.until(func(e sent) bool { return e.name == "end" })
	if text := logText(rest, "+wf+a"); text != "two\n" {
		t.Errorf("log of +wf+a after the resume: %q", text)
	}
	if text := logText(rest, "+wf+b"); !strings.HasSuffix(text, "\nthree") {
		t.Errorf("log of +wf+b: %q", text)
	}
	last := rest[len(rest)-2]
	if last.name != "attempt" || last.data["status"] != "success" {
		t.Errorf("last of all: %v", last)
	}
	if e, more := s.next(); more || s.position != "end" {
		t.Errorf("after the end: %v %q", e, s.position)
	}
	if a := c.request(http.MethodGet, "/api/attempts/"+attempt+"/events", nil, "Last-Event-ID", "end"); a.status != http.StatusNoContent {
		t.Errorf("a client that has everything: %d", a.status)
	}
	again := c.follow(attempt, "")
	whole := again.until(func(e sent) bool { return e.name == "end" })
	if text := logText(whole, "+wf+a"); !strings.HasSuffix(text, "\none\ntwo\n") {
		t.Errorf("log of a finished attempt: %q", text)
	}
	if a := c.request(http.MethodHead, "/api/attempts/"+attempt+"/events", nil); a.status != http.StatusOK || len(a.content) != 0 {
		t.Errorf("HEAD: %d %q", a.status, a.content)
	}
}

// TestEventsEndWithServer checks that streams do not keep a server from stopping.
func TestEventsEndWithServer(t *testing.T) {
	t.Parallel()
	stack.NeedsServer(t, "there is no server that stops")
	c := open(t)
	folder := t.TempDir()
	c.must(http.MethodPut, "/api/projects?project=p&revision=r", steps(folder))
	s := c.follow(c.start("p", "wf", "2024-01-02T00:00:00Z"), "")
	s.until(func(e sent) bool { return e.name == "attempt" })
	c.stop()
	for {
		if e, more := s.next(); !more {
			break
		} else if e.name == "end" {
			t.Error("the stream says that the attempt is over")
		}
	}
	write(t, folder+"/go")
}
