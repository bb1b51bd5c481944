package stack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
	"zerodag/integration/stack"
)

// pusher is the command line and plain requests against the deployed stack.
type pusher struct {
	t          *testing.T
	url, token string
	project    string // that no other test uses
	program    string
}

func newPusher(t *testing.T) pusher {
	t.Helper()
	s := stack.Deployed(t)
	return pusher{t, s.URL, s.Token, "upload-" + strings.ToLower(rand.Text()[:10]), server.Build(t)}
}

// run runs the command line in a folder and returns its exit code and its output.
func (p pusher) run(folder string, arguments ...string) (int, string) {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), p.program, append(arguments, "-e", p.url)...)
	c.Dir, c.Env = folder, append(os.Environ(), "ZERODAG_TOKEN="+p.token, "HOME="+p.t.TempDir())
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		p.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// call sends a request to the API.
func (p pusher) call(method, path, kind string, body []byte) (int, map[string]any) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	v := map[string]any{}
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		p.t.Fatalf("%s %s: %s, %v", method, path, answer.Status, err)
	}
	return answer.StatusCode, v
}

// runs starts the workflow main of the project and waits for its end.
func (p pusher) runs() {
	p.t.Helper()
	p.succeeds(p.starts("main"), time.Minute)
}

// starts starts a workflow of the project and returns the id of the attempt. Session times have whole seconds, but two
// starts may be closer to each other, so milliseconds become seconds.
func (p pusher) starts(workflow string) string {
	p.t.Helper()
	session := time.Unix(time.Now().UnixMilli()%1e9, 0).UTC().Format(time.DateTime)
	code, out := p.run(".", "start", p.project, workflow, "--session", session, "--output", "json")
	var a struct{ ID string }
	start := strings.Index(out, "{")
	if code != 0 || start < 0 || json.NewDecoder(strings.NewReader(out[start:])).Decode(&a) != nil {
		p.t.Fatalf("start: exit code %d\n%s", code, out)
	}
	return a.ID
}

// succeeds waits for the end of an attempt.
func (p pusher) succeeds(attempt string, patience time.Duration) {
	p.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(200 * time.Millisecond) {
		if _, v := p.call(http.MethodGet, "/api/attempts/"+attempt, "", nil); v["done"] == true {
			if v["success"] != true {
				p.t.Errorf("attempt %s failed", attempt)
			}
			return
		}
	}
	_, tasks := p.call(http.MethodGet, "/api/attempts/"+attempt+"/tasks", "", nil)
	p.t.Errorf("attempt %s does not end: %v", attempt, tasks)
}

// sleeps waits until a task of an attempt waits for its next run.
func (p pusher) sleeps(attempt string, patience time.Duration) {
	p.t.Helper()
	var tasks map[string]any
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(200 * time.Millisecond) {
		_, tasks = p.call(http.MethodGet, "/api/attempts/"+attempt+"/tasks", "", nil)
		list, _ := tasks["tasks"].([]any)
		if slices.ContainsFunc(list, func(one any) bool { task, _ := one.(map[string]any); return task["state"] == "retry_waiting" }) {
			return
		}
	}
	p.t.Fatalf("no task of attempt %s waits for its next run: %v", attempt, tasks)
}

// folder makes a folder with a workflow and n bytes that cannot be compressed.
func (p pusher) folder(n int) string {
	p.t.Helper()
	folder := p.t.TempDir()
	data := make([]byte, n)
	rand.Read(data)
	for name, content := range map[string][]byte{"main.dig": []byte("+a:\n  echo>: pushed\n"), "data": data} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	return folder
}

// packed makes an archive with one entry that a project must not have.
func packed(t *testing.T, h tar.Header, content int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	h.Mode = 0o644
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUploadSizes checks that projects of every size can be pushed and run: one that fits into a request, one that does
// not, and one that is uploaded in parts.
func TestUploadSizes(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "more than a request": 6_000_000, "in parts": 101_000_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if size > 100_000_000 && testing.Short() {
				t.Skip("SKIPPED: 100 MB take long")
			}
			p := newPusher(t)
			if code, out := p.run(p.folder(size), "push", p.project, "-r", "one"); code != 0 || !strings.Contains(out, "revision one.") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			p.runs()
		})
	}
}

// TestUploadErrors checks that mistakes in a project are reported with file and line, as in a direct push, and that the
// revision does not exist.
func TestUploadErrors(t *testing.T) {
	t.Parallel()
	p := newPusher(t)
	folder := p.folder(10)
	archive := func(name string, content []byte) string {
		file := filepath.Join(folder, name+".tgz")
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var wrong bytes.Buffer
	z := gzip.NewWriter(&wrong)
	w := tar.NewWriter(z)
	const text = "+a:\n  echo>: x\n+b: [\n"
	w.WriteHeader(&tar.Header{Name: "wrong.dig", Mode: 0o644, Size: int64(len(text))})
	io.WriteString(w, text)
	w.Close()
	z.Close()
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"wrong":   {wrong.Bytes(), "wrong.dig:3:1:"},
		"escape":  {packed(t, tar.Header{Name: "../../tmp/escaped", Size: 4}, 4), "../../tmp/escaped"},
		"bomb":    {packed(t, tar.Header{Name: "zeros", Size: 1<<30 + 1}, 1<<20), "limit"},
		"nothing": {[]byte("no archive"), "not in the .gz format"},
	} {
		code, out := p.run(folder, "upload", archive(name, c.content), p.project, "-r", name)
		if code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, want %s\n%s", name, code, c.want, out)
		}
		status, direct := p.call(http.MethodPut, "/api/projects?project="+p.project+"&revision="+name, "application/gzip", c.content)
		if message, _ := direct["message"].(string); status != http.StatusBadRequest || !strings.Contains(out, message) {
			t.Errorf("%s: a direct push says %d %v, a slot\n%s", name, status, direct, out)
		}
	}
	if status, _ := p.call(http.MethodGet, "/api/project?name="+p.project, "", nil); status != http.StatusNotFound {
		t.Errorf("the project is there: status %d", status)
	}
	tooLarge := make([]byte, 4<<20+1)
	if status, v := p.call(http.MethodPut, "/api/projects?project="+p.project+"&revision=r", "application/gzip", tooLarge); status != http.StatusRequestEntityTooLarge || !strings.Contains(fmt.Sprint(v["message"]), "zerodag push") {
		t.Errorf("a request over the limit: %d %v", status, v)
	}
}

// TestUploadSlot checks that S3 accepts only the archive of a slot, that the same archive put twice makes one revision,
// and that a second slot for the revision causes a conflict.
func TestUploadSlot(t *testing.T) {
	t.Parallel()
	p := newPusher(t)
	content := packed(t, tar.Header{Name: "data", Size: 4}, 4)
	sum := sha256.Sum256(content)
	ask := func() (string, func([]byte) int) {
		status, slot := p.call(http.MethodPost, "/api/uploads?project="+p.project+"&revision=r", "application/json",
			fmt.Appendf(nil, `{"size":%d,"sha256":[%q]}`, len(content), base64.StdEncoding.EncodeToString(sum[:])))
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, slot)
		}
		part := slot["parts"].([]any)[0].(map[string]any)
		return slot["id"].(string), func(body []byte) int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, part["url"].(string), bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range part["headers"].(map[string]any) {
				r.Header.Set(name, value.(string))
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode
		}
	}
	outcome := func(id string) map[string]any {
		for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
			if _, o := p.call(http.MethodGet, "/api/uploads/"+id, "", nil); o["status"] == "done" || o["status"] == "failed" {
				return o
			}
		}
		t.Fatalf("no answer says what became of %s", id)
		return nil
	}
	id, put := ask()
	other := bytes.Clone(content)
	other[len(other)-1]++
	for name, body := range map[string][]byte{"other": other, "longer": append(bytes.Clone(content), 0), "shorter": content[1:]} {
		if status := put(body); status < 400 {
			t.Errorf("S3 takes %s content: status %d", name, status)
		}
	}
	if _, o := p.call(http.MethodGet, "/api/uploads/"+id, "", nil); o["status"] != "waiting" {
		t.Errorf("after refusals: %v", o)
	}
	for range 2 {
		if status := put(content); status != http.StatusOK {
			t.Errorf("S3 refuses the archive: status %d", status)
		}
		if o := outcome(id); o["status"] != "done" || o["project"].(map[string]any)["name"] != p.project {
			t.Errorf("%v", o)
		}
	}
	second, put := ask()
	put(content)
	if o := outcome(second); o["status"] != "failed" || o["error"].(map[string]any)["status"] != 409.0 {
		t.Errorf("a second slot: %v", o)
	}
	_, project := p.call(http.MethodGet, "/api/project?name="+p.project, "", nil)
	_, list := p.call(http.MethodGet, fmt.Sprintf("/api/projects/%v/revisions", project["id"]), "", nil)
	if n := len(list["revisions"].([]any)); n != 1 {
		t.Errorf("%d revisions", n)
	}
}
