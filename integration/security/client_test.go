package security

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answer is the response of a server.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// object decodes a JSON response.
func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return v
}

// call sends a request as a program does; headers are pairs of names and values, including Host.
func (s *server) call(method, path string, body []byte, headers ...string) answer {
	s.t.Helper()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.Addr+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	got, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, ending(s.log()))
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(text)}
}

// send sends a body with a content type, and decodes the JSON of a successful response.
func (s *server) send(method, path, kind string, body []byte, into any) (status int, text string) {
	s.t.Helper()
	a := s.call(method, path, body, "Content-Type", kind)
	if into != nil && a.Status == http.StatusOK {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, a.Body)
		}
	}
	return a.Status, a.Body
}

// must sends JSON or an archive, and decodes JSON; everything else is fatal.
func (s *server) must(method, path string, body []byte, into any) {
	s.t.Helper()
	kind := "application/json"
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		kind = "application/gzip"
	}
	if status, text := s.send(method, path, kind, body, into); status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// raw sends a string unchanged and reads one response.
func (s *server) raw(text string) answer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	body, _ := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(body)}
}

// push pushes workflows by name as project "p", and returns the id of the project.
func (s *server) push(files map[string]string, headers ...string) string {
	s.t.Helper()
	a := s.call(http.MethodPut, "/api/projects?project=p&revision="+fmt.Sprint(time.Now().UnixNano()), archive(files), append(headers, "Content-Type", "application/gzip")...)
	if a.Status != http.StatusOK {
		s.t.Fatalf("push: %d %s", a.Status, a.Body)
	}
	return a.object(s.t)["id"].(string)
}

// pushAll pushes workflows of a new project and returns their ids by name.
func (s *server) pushAll(files map[string]string) map[string]string {
	s.t.Helper()
	s.project++
	var p struct{ ID string }
	s.must(http.MethodPut, fmt.Sprintf("/api/projects?project=p%d&revision=1", s.project), archive(files), &p)
	var list struct{ Workflows []struct{ ID, Name string } }
	s.must(http.MethodGet, "/api/projects/"+p.ID+"/workflows", nil, &list)
	ids := map[string]string{}
	for _, w := range list.Workflows {
		ids[w.Name] = w.ID
	}
	return ids
}

// pushMain pushes a project with the workflow main.
func (s *server) pushMain(project, workflow string) (status int, answer string) {
	s.t.Helper()
	return s.pushArchive(project, archive(map[string]string{"main.dig": workflow}))
}

func (s *server) pushArchive(project string, archive []byte) (status int, answer string) {
	s.t.Helper()
	return s.send(http.MethodPut, fmt.Sprintf("/api/projects?project=%s&revision=r%d", project, time.Now().UnixNano()), "application/gzip", archive, nil)
}

// start starts a workflow of project "p" and returns the attempt's id.
func (s *server) start(workflow, session string, headers ...string) string {
	s.t.Helper()
	w := s.call(http.MethodGet, "/api/workflow?project=p&name="+workflow, nil, headers...).object(s.t)
	a := s.call(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, w["id"], session), append(headers, "Content-Type", "application/json")...)
	if a.Status != http.StatusOK {
		s.t.Fatalf("start: %d %s", a.Status, a.Body)
	}
	return a.object(s.t)["id"].(string)
}

// succeeded waits for the end of an attempt and reports whether it succeeded.
func (s *server) succeeded(attempt string, headers ...string) bool {
	s.t.Helper()
	var row map[string]any
	until(s.t, "attempt "+attempt+" ends", func() bool {
		row = s.call(http.MethodGet, "/api/attempts/"+attempt, nil, headers...).object(s.t)
		return row["done"] == true
	})
	return row["success"] == true
}

// attempt is the API's data about an attempt.
type attempt struct {
	ID                             string
	Done, Success, CancelRequested bool
}

// begin starts a workflow by its id, in a separate session.
func (s *server) begin(workflow string) (a attempt) {
	s.t.Helper()
	s.must(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, workflow,
		time.Unix(sessions.Add(1), 0).UTC().Format(time.RFC3339)), &a)
	return a
}

// beginMain pushes a workflow and starts it.
func (s *server) beginMain(project, workflow string) (attempt string) {
	s.t.Helper()
	if status, answer := s.pushMain(project, workflow); status != http.StatusOK {
		s.t.Fatalf("push: %d %s", status, answer)
	}
	return s.startLatest(project)
}

// startLatest starts the workflow main of a project.
func (s *server) startLatest(project string) (attempt string) {
	s.t.Helper()
	var p struct{ Projects []struct{ ID string } }
	s.must(http.MethodGet, "/api/projects?name="+project, nil, &p)
	var found struct{ Workflows []struct{ ID string } }
	s.must(http.MethodGet, "/api/projects/"+p.Projects[0].ID+"/workflows?name=main", nil, &found)
	return s.begin(found.Workflows[0].ID).ID
}

// finish waits for the end of an attempt and returns the messages of its failed tasks.
func (s *server) finish(a attempt, most time.Duration) (attempt, string) {
	s.t.Helper()
	within(s.t, most, "attempt "+a.ID+" ends", func() bool {
		s.must(http.MethodGet, "/api/attempts/"+a.ID, nil, &a)
		return a.Done
	})
	var list struct {
		Tasks []struct{ Error struct{ Message string } }
	}
	s.must(http.MethodGet, "/api/attempts/"+a.ID+"/tasks", nil, &list)
	var said []string
	for _, t := range list.Tasks {
		if t.Error.Message != "" {
			said = append(said, t.Error.Message)
		}
	}
	return a, strings.Join(said, "\n")
}

// isDone reports whether an attempt has ended.
func (s *server) isDone(a attempt) bool {
	s.t.Helper()
	s.must(http.MethodGet, "/api/attempts/"+a.ID, nil, &a)
	return a.Done
}

// run starts a workflow, waits for it, and returns its logs and the response about its tasks.
func (s *server) run(project, workflow string) (success bool, log string) {
	s.t.Helper()
	a := s.beginMain(project, workflow)
	success = s.succeeded(a)
	return success, s.logs(a) + s.tasks(a)
}

// logs returns the logs of an attempt's tasks.
func (s *server) logs(attempt string, headers ...string) string {
	s.t.Helper()
	var list struct{ Files []struct{ FileName string } }
	found := s.call(http.MethodGet, "/api/logs/"+attempt+"/files", nil, headers...)
	if err := json.Unmarshal([]byte(found.Body), &list); err != nil || found.Status != http.StatusOK {
		s.t.Fatalf("logs: %d %s", found.Status, found.Body)
	}
	var all strings.Builder
	for _, f := range list.Files {
		text := s.call(http.MethodGet, "/api/logs/"+attempt+"/files/"+f.FileName, nil, headers...).Body
		z, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			all.WriteString(text) // the client has unpacked it, or there is nothing
			continue
		}
		if _, err := io.Copy(&all, z); err != nil {
			s.t.Fatal(err)
		}
	}
	return all.String()
}

// tasks returns the response about the tasks of an attempt, which contains their errors.
func (s *server) tasks(attempt string) string {
	s.t.Helper()
	return s.call(http.MethodGet, "/api/attempts/"+attempt+"/tasks", nil).Body
}
