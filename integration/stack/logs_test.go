package stack_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/stack"
)

// noise returns text that cannot be compressed.
func noise(n int) string {
	var b strings.Builder
	for sum := sha256.Sum256([]byte("seed")); b.Len() < n; sum = sha256.Sum256(sum[:]) {
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()
}

// download gets a link without credentials, like a browser, and unpacks the response: its headers declare compressed
// text.
func download(t *testing.T, link string) (status int, text string) {
	t.Helper()
	browser := http.Client{Transport: &http.Transport{DisableCompression: true}} // otherwise Go unpacks the response and removes the header
	answer, err := browser.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, ""
	}
	if kind, encoding := answer.Header.Get("Content-Type"), answer.Header.Get("Content-Encoding"); kind != "text/plain; charset=utf-8" || encoding != "gzip" {
		t.Errorf("a browser gets %q, packed as %q", kind, encoding)
	}
	z, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false) // like browsers
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(plain)
}

// TestLogLinks checks that `zerodag log --url` prints links into S3 that every reader can download from and that cannot
// be changed; short logs also have one if the deployment stores them (smallLogs), and otherwise come from the API.
func TestLogLinks(t *testing.T) {
	t.Parallel()
	deployed := stack.Deployed(t)
	c := newCommandLine(t, deployed, deployed.SiteToken(t, stack.FreshSite(), "admin"))
	large := noise(8 << 10)
	c.write("wf.dig", "+large:\n  echo>: "+large+"\n+small:\n  echo>: a short text\n")
	c.must("push", "links", "-r", "r1")
	attempt := c.start("links", "wf")
	if log := c.must("log", attempt, "-f"); !strings.Contains(log, large) || !strings.Contains(log, "a short text") {
		t.Fatalf("logs: %s", log)
	}
	links := strings.Fields(c.must("log", attempt, "+wf+large", "--url"))
	if len(links) != 1 || strings.HasPrefix(links[0], deployed.URL) || !strings.Contains(links[0], "X-Amz-Signature=") {
		t.Fatalf("link to a large log: %v", links)
	}
	if status, text := download(t, links[0]); status != http.StatusOK || !strings.Contains(text, large) {
		t.Errorf("download: %d %d bytes", status, len(text))
	}
	u, err := url.Parse(links[0])
	if err != nil {
		t.Fatal(err)
	}
	if u.Path = strings.Replace(u.Path, "large", "other", 1); u.Path == links[0] {
		t.Fatalf("the link does not name the task: %s", links[0])
	}
	if status, _ := download(t, u.String()); status != http.StatusForbidden {
		t.Errorf("a link that was changed: %d, want 403", status)
	}
	short := strings.Fields(c.must("log", attempt, "+wf+small", "--url"))
	if os.Getenv("ZERODAG_SMALL_LOGS") == "" {
		if len(short) != 1 || !strings.HasPrefix(short[0], deployed.URL) {
			t.Errorf("link to a short log: %v, want one of the API", short)
		}
		return
	}
	if len(short) != 1 || strings.HasPrefix(short[0], deployed.URL) {
		t.Fatalf("link to a short log: %v, want one into S3", short)
	}
	if status, text := download(t, short[0]); status != http.StatusOK || !strings.HasSuffix(text, "a short text") {
		t.Errorf("download: %d %q", status, text)
	}
}

// gate starts a local server whose callers wait until it is opened.
func gate(t *testing.T) (address string, open func()) {
	t.Helper()
	opened := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-opened:
		case <-r.Context().Done():
		}
	}))
	open = sync.OnceFunc(func() { close(opened) })
	t.Cleanup(func() { open(); server.Close() })
	return server.URL, open
}

// gated starts an attempt of three tasks, the second of which waits until it is opened.
func gated(t *testing.T) (c commandLine, attempt string, open func()) {
	t.Helper()
	deployed := stack.Deployed(t)
	near(t, deployed)
	c = newCommandLine(t, deployed, deployed.SiteToken(t, stack.FreshSite(), "admin"))
	address, open := gate(t)
	c.write("wf.dig", "+a:\n  echo>: first\n+b:\n  http>: "+address+"\n+c:\n  echo>: last\n")
	c.must("push", "gated", "-r", "r1")
	return c, c.start("gated", "wf"), open
}

// TestFollow checks that `zerodag log -f` shows the output of a task while a later one is still running, and ends with
// the attempt.
func TestFollow(t *testing.T) {
	t.Parallel()
	c, attempt, open := gated(t)
	stuck := time.AfterFunc(time.Minute, func() {
		t.Error("the first task's log is not shown while the second one runs")
		open()
	})
	defer stuck.Stop()
	cmd := c.command("log", attempt, "-f")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errors bytes.Buffer
	cmd.Stderr = &errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for in := bufio.NewScanner(out); in.Scan(); {
		if lines = append(lines, in.Text()); strings.HasSuffix(in.Text(), "echo>: first") {
			open() // only now can the attempt end
		}
	}
	if err := cmd.Wait(); err != nil || len(lines) == 0 || lines[len(lines)-1] != "last" {
		t.Errorf("%v\n%s\n%s", err, strings.Join(lines, "\n"), &errors)
	}
}

// TestEventsInParts checks that events arrive although API Gateway passes on only complete responses: each contains
// some events and where to continue, until the attempt has ended.
func TestEventsInParts(t *testing.T) {
	t.Parallel()
	c, attempt, open := gated(t)
	var all strings.Builder
	position := ""
	for parts := 0; position != "end"; parts++ {
		if parts == 50 {
			t.Fatalf("no end after %d parts:\n%s", parts, &all)
		}
		answer := get(t, c.stack, c.token, "/api/attempts/"+attempt+"/events", "Last-Event-ID", position)
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("events after %q: %d %s %v", position, answer.StatusCode, text, err)
		}
		for line := range strings.Lines(string(text)) {
			if at, ok := strings.CutPrefix(strings.TrimSpace(line), "id: "); ok {
				position = at
			}
		}
		if all.Write(text); strings.Contains(all.String(), "first") {
			open()
		}
	}
	for _, task := range []string{"+wf+a", "+wf+b", "+wf+c"} {
		name, _ := json.Marshal(task) // a string never fails
		if !strings.Contains(all.String(), `"fullName":`+string(name)) {
			t.Errorf("no event of %s in\n%s", task, &all)
		}
	}
	if !strings.Contains(all.String(), "last") || !strings.Contains(all.String(), `"status":"success"`) {
		t.Errorf("the end is not reported:\n%s", &all)
	}
}
