package rest_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"zerodag/docs"
	"zerodag/integration/stack"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

func (c caller) request(method, path string, body io.Reader, headers ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return c.send(r)
}

// TestEncodings checks that responses are compressed as the client prefers, unless they are already compressed, and
// that request bodies may be compressed.
func TestEncodings(t *testing.T) {
	t.Parallel()
	c := open(t)
	id := c.push(c.project())
	plain := c.call(http.MethodGet, "/api/projects", nil).content
	packed := c.request(http.MethodGet, "/api/projects", nil, "Accept-Encoding", "deflate, gzip")
	z, err := gzip.NewReader(bytes.NewReader(packed.content))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, plain) || packed.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %q %v, want %q", text, err, plain)
	}
	deflated := c.request(http.MethodGet, "/api/projects", nil, "Accept-Encoding", "deflate")
	d, err := zlib.NewReader(bytes.NewReader(deflated.content))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(d); err != nil || !bytes.Equal(text, plain) {
		t.Errorf("deflate: %q %v, want %q", text, err, plain)
	}
	if a := c.request(http.MethodGet, "/api/projects/"+id+"/archive?direct_download=false", nil, "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" || !bytes.Equal(a.content, c.project()) {
		t.Errorf("archive: %d bytes, encoding %q", len(a.content), a.header.Get("Content-Encoding"))
	}
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, _ = w.Write([]byte(`{"value":"v"}`)) // into memory: cannot fail
	_ = w.Close()
	for encoding, status := range map[string]int{"gzip": 200, "deflate": 400, "br": 415} {
		a := c.request(http.MethodPut, "/api/projects/"+id+"/secrets/k", bytes.NewReader(body.Bytes()), "Content-Encoding", encoding, "Content-Type", "application/json")
		if a.status != status {
			t.Errorf("Content-Encoding %s: %d %s, want %d", encoding, a.status, a.content, status)
		}
	}
}

// TestMethods checks the responses to HEAD, OPTIONS and TRACE and to unknown paths and methods, and that configured
// headers are added.
func TestMethods(t *testing.T) {
	t.Parallel()
	c, headers := open(t), "here"
	if c.deployed() {
		headers = "" // none can be configured
	} else {
		c.running = serve(t, httpapi.Options{Headers: map[string]string{"X-Site": "here"}})
	}
	for _, want := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"HEAD", "/api/projects", 200, ""},
		{"OPTIONS", "/api/projects", 200, "HEAD, GET, OPTIONS, PUT"},
		{"OPTIONS", "/api/nosuch", 404, ""},
		{"TRACE", "/api/nosuch", 404, ""},
		{"TRACE", "/api/projects", 405, ""},
		{"POST", "/api/projects", 405, ""},
		{"PATCH", "/api/projects", 405, ""},
		{"DELETE", "/api/nosuch", 404, ""},
		{"GET", "/api/projects/x", 404, ""},
		{"GET", "/api/projects?last_id=x", 404, ""},
		{"GET", "/api/attempts?page_size=", 404, ""},
		{"GET", "/api/projects?count=0", 200, `{"projects":[]}`},
		{"GET", "/api/projects?count=0&count=0", 400, `{"message":"count= is given 2 times: give it once","status":400}`},
		{"GET", "/api/logs/1/files?links=html", 400, `{"message":"links= must be text, not \"html\"","status":400}`},
		{"GET", "/api/backfills?open=yes", 400, `{"message":"open= must be true or false, not \"yes\"","status":400}`},
		{"GET", "/api/attempts?include_retried=1", 200, `{"attempts":[]}`}, // as Digdag documents it
		{"GET", "/api/projects/", 200, `{"projects":[]}`},
		{"GET", "/api/openapi.yaml", 200, string(docs.OpenAPI)},
	} {
		a := c.call(want.method, want.path, nil)
		if a.status != want.status || string(a.content) != want.body || a.header.Get("X-Site") != headers {
			t.Errorf("%s %s: %d %q, want %d %q", want.method, want.path, a.status, a.content, want.status, want.body)
		}
	}
	if a := c.call(http.MethodPost, "/api/projects", nil); a.header.Get("Allow") != "HEAD, GET, OPTIONS, PUT" {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
	if a := c.call(http.MethodPost, "/page", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST to the page: %d", a.status)
	}
}

// TestLimits checks the limits on bodies and archives, and their messages.
func TestLimits(t *testing.T) {
	t.Parallel()
	stack.NeedsServer(t, "its limits are not those that the test chooses")
	c := caller{serve(t, httpapi.Options{Limits: httpapi.Limits{Archive: 300, Body: 100, Attempts: 5}}), t, ""}
	push := func(body io.Reader) answer {
		return c.request(http.MethodPut, "/api/projects?project=p&revision=r", body, "Content-Type", "application/gzip")
	}
	small := archive(map[string]string{"a.dig": "+a:\n  echo>: x\n"})
	for _, want := range []struct {
		name, message string
		status        int
		answer        answer
	}{
		{"archive", "Size of the uploaded archive file exceeds limit (300 bytes)", 400, push(bytes.NewReader(bytes.Repeat(small, 3)))},
		{"no length", "Content-Length header doesn't match with uploaded data size", 400, push(struct{ io.Reader }{bytes.NewReader(small)})},
		{"good archive", "", 200, push(bytes.NewReader(small))},
		{"body", "larger than 100 bytes", 413, c.call(http.MethodPut, "/api/projects/1/secrets/k", `{"value":"`+strings.Repeat("x", 100)+`"}`)},
		{"page", "Your specified page_size is 6, but it is larger than MAX_PAGE_SIZE: 5. You must specify page_size with a number which is smaller than 5.", 400, c.call(http.MethodGet, "/api/attempts?page_size=6", nil)},
		{"type", "Cannot consume content type", 400, c.request(http.MethodPut, "/api/attempts", strings.NewReader("{}"), "Content-Type", "text/plain")},
	} {
		if want.answer.status != want.status || !strings.Contains(string(want.answer.content), want.message) {
			t.Errorf("%s: %d %s, want %d %q", want.name, want.answer.status, want.answer.content, want.status, want.message)
		}
	}
}

// TestBodies checks that errors name missing and invalid parts of a body.
func TestBodies(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, want := range []struct{ method, path, body, message string }{
		{"PUT", "/api/attempts", ``, "A JSON body is required"},
		{"PUT", "/api/attempts", `[]`, "array"},
		{"PUT", "/api/attempts", `{}`, "[workflowId, sessionTime, params]"},
		{"PUT", "/api/attempts", `{"workflowId":1,"sessionTime":"2024-01-01T00:00:00Z","params":[]}`, "JSON object is needed"},
		{"PUT", "/api/attempts", `{"workflowId":1,"sessionTime":"2024-01-01T00:00:00","params":{}}`, "Invalid ISO time format: 2024-01-01T00:00:00"},
		{"PUT", "/api/attempts", `{"workflowId":1,"sessionTime":"2024-01-01T00:00:00Z","params":{},"retryAttemptName":"` + strings.Repeat("x", 256) + `"}`, "must not be longer than 255 characters"},
		{"PUT", "/api/attempts", `{"workflowId":1,"sessionTime":"2024-01-01T00:00:00Z","params":{},"resume":{"mode":"back"}}`, "Unknown resuming mode: back"},
		{"PUT", "/api/attempts", `{"workflowId":1,"sessionTime":"2024-01-01T00:00:00Z","params":{},"resume":{"mode":"from","attemptId":1}}`, "[resume.from]"},
		{"POST", "/api/schedules/1/skip", `{"dryRun":false}`, "nextTime or (fromTime and count) are required"},
		{"POST", "/api/schedules/1/skip", `{"dryRun":false,"count":1}`, "nextTime or (fromTime and count) are required"},
		{"POST", "/api/schedules/1/backfill", `{}`, "[fromTime, attemptName, dryRun]"},
		{"PUT", "/api/projects/1/secrets/k", `{"value":[1]}`, "Expected text"},
		{"POST", "/api/schedules/1/enable", `{"skipSchedule":"maybe"}`, "Expected true or false"},
		{"PUT", "/api/projects/1/secrets/a..b", `{"value":"x"}`, "Invalid secret"},
		{"PUT", "/api/projects/1/secrets/k", `{"value":"` + strings.Repeat("x", 16385) + `"}`, "Invalid secret"},
	} {
		a := c.call(want.method, want.path, want.body)
		if a.status != http.StatusBadRequest || !strings.Contains(string(a.content), want.message) {
			t.Errorf("%s %s %.80s: %d %s, want 400 %q", want.method, want.path, want.body, a.status, a.content, want.message)
		}
	}
}

// TestMetrics checks that requests are counted by endpoint, and attempts by workflow.
func TestMetrics(t *testing.T) {
	t.Parallel()
	stack.NeedsServer(t, "its metrics are in CloudWatch; a function's process counts its own calls only")
	if several() {
		t.Skip("NOT RUN on several servers: each counts what it has done")
	}
	c := open(t)
	c.push(c.project())
	c.run("p", "main")
	text := string(c.call(http.MethodGet, "/api/metrics", nil).content)
	for _, want := range []string{"zerodag_api_request_duration_seconds_count{endpoint=\"putProject\"} 1\n", `zerodag_api_request_duration_seconds_bucket{endpoint="startAttempt",le="+Inf"} 1`,
		"zerodag_attempts_started_total 1\n", `zerodag_attempts_ended_total{site="0",project="p",workflow="main",result="success"} 1`, `zerodag_attempt_duration_seconds_count{site="0",project="p",workflow="main"} 1`,
		"zerodag_database_queue_tasks ", "zerodag_build_info{version="} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestUserInfo checks that the administrators' endpoint exists only on their listener and only for them.
func TestUserInfo(t *testing.T) {
	t.Parallel()
	stack.NeedsServer(t, "it has no listener for administrators")
	users := []access.User{{Name: "root", Password: "r", Admin: true}, {Name: "user", Password: "u"}}
	for _, want := range []struct {
		admin  bool
		header string
		status int
	}{{true, basic("root", "r"), 200}, {true, basic("user", "u"), 403}, {false, basic("root", "r"), 404}} {
		server := serve(t, httpapi.Options{Admin: want.admin, Auth: access.Auth{Users: users}})
		pusher := caller{server, t, server.token(t, 0, "admin")}
		pusher.push(server.project())
		attempt := pusher.start("p", "main", "2024-01-02T00:00:00Z")
		a := caller{server, t, ""}.request(http.MethodGet, "/api/admin/attempts/"+attempt+"/userinfo", nil, "Authorization", want.header)
		if a.status != want.status || want.status == http.StatusOK && string(a.content) != `{"token":"admin"}` {
			t.Errorf("admin listener %t, %s: %d %s, want %d", want.admin, want.header, a.status, a.content, want.status)
		}
	}
}
