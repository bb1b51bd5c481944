package rest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// recorded is one call of the recording.
type recorded struct {
	Endpoint, Note, Method, Path string
	Status                       int
	ContentType                  string          `json:"contentType"`
	RequestBody                  json.RawMessage `json:"requestBody"`
	Response                     any             `json:"response"`
	ResponseText                 *string         `json:"responseText"`
}

func (c caller) readRecording() []recorded {
	t := c.t
	t.Helper()
	text, err := os.ReadFile("rest_shapes.json")
	if err != nil {
		t.Fatal(err)
	}
	if c.deployed() {
		own := c.must(http.MethodGet, "/api/version", nil)["version"].(string)
		text = []byte(strings.NewReplacer(append(deployedToo, `"`+recordedVersion+`"`, `"`+own+`"`)...).Replace(string(text)))
	}
	switch {
	case !c.stack.Commands:
		text = []byte(withoutCommands.Replace(string(text)))
	case c.deployed():
		text = []byte(strings.ReplaceAll(string(text), "sleep 3", slowly))
	}
	var file struct{ Calls []recorded }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Calls
}

// deployedToo turns the recording into the responses of a deployed stack, which keeps archives in S3 and records who
// pushes.
var deployedToo = []string{`"archiveType": "db"`, `"archiveType": "s3"`, `"userInfo": {}`, `"userInfo": {"token": "admin"}`}

// withoutCommands turns the recording into the responses of a server that runs no commands.
var withoutCommands = strings.NewReplacer(`"sh>": "echo b"`, `"echo>": "b"`, `"sh>": "sleep 3"`, `"wait>": "60s"`)

// slowly is the slow command on a deployed stack: it must still be running after the calls that read it, and a machine
// needs half a minute to begin it.
const slowly = "sleep 300"

// elsewhere removes from a response the additional data about a command that a machine ran: the machine, in the state
// of its task, and the log of the function that launched it.
func elsewhere(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			v[key] = elsewhere(x)
		}
		if state, ok := v["stateParams"].(map[string]any); ok {
			delete(state, "commandStatus")
		}
		if files, ok := v["files"].([]any); ok {
			v["files"] = slices.DeleteFunc(slices.Clone(files), func(f any) bool { return launched(f, files) })
		}
		if agent, _ := v["agentId"].(string); strings.HasPrefix(agent, "runner-") {
			v["direct"] = nil // a machine's log has a link, even if it is small enough for the API to serve it
		}
	case []any:
		for i, x := range v {
			v[i] = elsewhere(x)
		}
	}
	return v
}

// launched reports whether a log belongs to the function that launched the machine of its task.
func launched(file any, files []any) bool {
	of := func(f any) (task string, machine bool) {
		fields, _ := f.(map[string]any)
		agent, _ := fields["agentId"].(string)
		task, _ = fields["taskName"].(string)
		return task, strings.HasPrefix(agent, "runner-")
	}
	task, machine := of(file)
	return !machine && slices.ContainsFunc(files, func(f any) bool {
		other, machine := of(f)
		return machine && other == task
	})
}

// deployedOtherwise lists recorded calls that a deployed stack answers differently, and why.
var deployedOtherwise = map[string]string{
	"GET /api/schedules?last_id=1": "its schedules are not numbered in the order of their making: TestSchedulePages",
	"GET /":                        "it has a web console",
	"GET /projects/1":              "it has a web console",
}

// answer is a response from this server.
type answer struct {
	status  int
	header  http.Header
	content []byte
}

// replay replays the recording on one server.
type replay struct {
	caller
	t   *testing.T
	ids ids
	url string
}

// TestRecordedCalls checks that every recorded call gets the same status, the same keys and types and, if they do not
// depend on time and place, the same values; and that each response conforms to docs/openapi.yaml.
func TestRecordedCalls(t *testing.T) {
	t.Parallel()
	open := open(t)
	closed := open.running
	if !open.deployed() {
		closed = serve(t, httpapi.Options{Auth: access.Auth{Users: []access.User{{Name: "user", Password: "secret"}}}})
	}
	r := &replay{t: t, ids: ids{}, caller: open}
	for i, c := range open.readRecording() {
		r.url = open.URL
		if why := deployedOtherwise[c.Method+" "+c.Path]; open.deployed() && (why != "" || c.Endpoint == "auth") {
			t.Logf("NOT REPEATED on a deployed stack: call %d: %s %s: %s", i, c.Method, c.Path, cmp.Or(why, "it has no users with passwords"))
			continue
		}
		if c.Endpoint == "auth" {
			r.url = closed.URL
		}
		if c.Note == "kill finished" {
			r.settled(c)
		}
		if diffs := r.call(c); len(diffs) > 0 {
			t.Errorf("call %d: %s %s (%s):\n  %s", i, c.Method, c.Path, c.Note, strings.Join(diffs, "\n  "))
		}
	}
}

// settled waits until the attempt of a call has ended.
func (r *replay) settled(c recorded) {
	path := strings.TrimSuffix(c.Path, "/kill")
	r.eventually(func() []string {
		if a := r.send(recorded{Method: http.MethodGet, Path: path}); !bytes.Contains(a.content, []byte(`"done":true`)) {
			return []string{"the attempt does not end"}
		}
		return nil
	})
}

// patience is how long the progress of an attempt on a deployed stack may take, because machines are launched for
// commands.
const patience = 4 * time.Minute

// eventually retries a check that depends on the progress of attempts.
func (r *replay) eventually(f func() []string) []string {
	deadline := time.Now().Add(30 * time.Second)
	if r.deployed() {
		deadline = time.Now().Add(patience)
	}
	for {
		diffs := f()
		if len(diffs) == 0 || time.Now().After(deadline) {
			return diffs
		}
		time.Sleep(5 * time.Millisecond) // polls, like clients of this API
	}
}

func (r *replay) call(c recorded) []string {
	if c.Method == http.MethodGet && c.Response != nil && c.Status == http.StatusOK {
		return r.eventually(func() []string { return r.check(c, r.send(c)) })
	}
	return r.check(c, r.send(c))
}

// connections does not keep connections during the wait for a machine, because servers close idle connections.
var connections = &http.Transport{IdleConnTimeout: 2 * time.Second}

func (r *replay) send(c recorded) answer {
	r.t.Helper()
	body, contentType := r.body(c)
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(r.t.Context(), c.Method, r.url+r.ids.path(c.Path), reader)
	if err != nil {
		r.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	switch c.Note {
	case "wrong password":
		request.SetBasicAuth("user", "wrong")
	case "bearer":
		request.Header.Set("Authorization", "Bearer x")
	case "right password", "non-admin user":
		request.SetBasicAuth("user", "secret")
	}
	response, err := connections.RoundTrip(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if response.StatusCode == http.StatusSeeOther && r.deployed() {
		return r.stored(response.Header.Get("Location"))
	}
	return answer{response.StatusCode, response.Header, content}
}

// stored gets the content of a link to a deployed stack's storage.
func (r *replay) stored(link string) answer {
	r.t.Helper()
	response, err := http.Get(link)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, content}
}

// body makes the body of a call; for binary bodies, only size and type were recorded.
func (r *replay) body(c recorded) (body []byte, contentType string) {
	var text string
	if c.RequestBody == nil {
		return nil, ""
	}
	if json.Unmarshal(c.RequestBody, &text) != nil {
		return r.ids.body(c.RequestBody), "application/json"
	}
	var size int
	if _, err := fmt.Sscanf(text, "<%d bytes %s", &size, &contentType); err != nil {
		r.t.Fatalf("body %q: %v", text, err)
	}
	contentType = strings.TrimSuffix(contentType, ">")
	switch c.Note {
	case "not gzip":
		body = []byte("this is no gz")
	case "empty body":
		body = []byte{}
	case "bad json":
		body = []byte("{ bad json")
	case "invalid workflow":
		body = archive(map[string]string{"main.dig": "+a: 5\n"})
	case "unknown top-level key":
		body = archive(map[string]string{"main.dig": "junk: 1\n+a:\n  echo>: x\n"})
	case "path traversal entry":
		body = archive(map[string]string{"../evil.dig": "+a:\n  echo>: x\n", "main.dig": "+a:\n  echo>: x\n"})
	default:
		body = r.project()
	}
	return body, contentType
}

func (r *replay) check(c recorded, a answer) []string {
	diffs := r.spec.check(c.Method, c.Path, a)
	if c.Status == http.StatusInternalServerError {
		if a.status < 400 || a.status > 499 {
			diffs = append(diffs, fmt.Sprintf("status %d, want a clear 4xx where the original answers 500", a.status))
		}
		return diffs
	}
	if a.status != c.Status {
		return append(diffs, fmt.Sprintf("status %d, want %d: %s", a.status, c.Status, a.content))
	}
	if got := a.header.Get("Content-Type"); got != c.ContentType && !(r.deployed() && c.ContentType == "" && len(a.content) == 0) { // the gateway adds one
		diffs = append(diffs, fmt.Sprintf("content type %q, want %q", got, c.ContentType))
	}
	if c.Response == nil {
		return append(diffs, r.text(c, a)...)
	}
	var got any
	if err := json.Unmarshal(a.content, &got); err != nil {
		return append(diffs, err.Error())
	}
	if r.deployed() {
		got = elsewhere(got)
	}
	if fields, ok := got.(map[string]any); ok && !r.stack.Commands && c.Note == "start" {
		delete(fields, "warnings") // about the parameter that only the recorded script reads, which this server does not have
	}
	withoutServers(got)
	// A killed command ends at once here; an attempt may have progressed further than in the recording. Without
	// commands, the slow task waits, and so does a task whose command a machine runs.
	loose := (!r.stack.Commands || r.deployed()) && c.Note == "running" || c.Note == "after kill request" || c.Note == "after delete" || c.Status == http.StatusConflict
	compared := &comparison{ids: r.ids, loose: loose, task: c.Path}
	want := clone(c.Response)
	if strings.Contains(c.Path, "count=1&order") {
		compared.ids = ids{} // here, another definition is the last one
		want = got
	}
	compared.same(want, got, "", kindOf(firstSegment(c.Path), ""))
	return append(diffs, compared.diffs...)
}

// withoutServers removes from running tasks the server that runs them, which Digdag does not show: its clients ignore keys
// that they do not know.
func withoutServers(v any) {
	fields, _ := v.(map[string]any)
	tasks, _ := fields["tasks"].([]any)
	for _, task := range tasks {
		if task, ok := task.(map[string]any); ok && task["state"] == "running" {
			delete(task, "agentId")
		}
	}
}

// text checks a response that is not JSON.
func (r *replay) text(c recorded, a answer) []string {
	want := ""
	if c.ResponseText != nil {
		want = *c.ResponseText
	}
	switch {
	case strings.HasPrefix(want, "<gzip"):
		if !bytes.HasPrefix(a.content, []byte{0x1f, 0x8b}) {
			return []string{"not gzip"}
		}
	case want != string(a.content):
		return []string{fmt.Sprintf("body %q, want %q", a.content, want)}
	}
	return nil
}

// firstSegment is the resource that a path is about.
func firstSegment(path string) string {
	path, _, _ = strings.Cut(strings.TrimPrefix(path, "/api/"), "?")
	name, _, _ := strings.Cut(path, "/")
	return name
}

func clone(v any) any {
	var out any
	if err := json.Unmarshal(must(json.Marshal(v)), &out); err != nil {
		panic(err)
	}
	return out
}

// TestElsewhere checks that only the additions of a command's machine are removed from a response.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	var got, want any
	const answer = `{"tasks":[{"stateParams":{"commandStatus":{"command":"3.0"},"other":1}}],"files":[{"agentId":"lambda","taskName":"+a","direct":null},
		{"agentId":"lambda","taskName":"+b","direct":null},{"agentId":"runner-x","taskName":"+b","direct":"http://link"}]}`
	const left = `{"tasks":[{"stateParams":{"other":1}}],"files":[{"agentId":"lambda","taskName":"+a","direct":null},{"agentId":"runner-x","taskName":"+b","direct":null}]}`
	for text, v := range map[string]*any{answer: &got, left: &want} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
	}
	if got = elsewhere(got); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
