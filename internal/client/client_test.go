package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// waits records the pauses between tries without waiting.
type waits struct{ list []time.Duration }

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.list = append(w.list, d)
	return ctx.Err()
}

func connect(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Wait == nil {
		o.Wait = (&waits{}).wait
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts a server that responds with f, and returns a client for it.
func serve(t *testing.T, o Options, f http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	o.Endpoint = s.URL
	return connect(t, o)
}

// TestEndpoint checks which forms of an address are accepted.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       DefaultEndpoint,
		"localhost":              "http://localhost",
		"host:1234":              "http://host:1234",
		"http://host":            "http://host",
		"https://host:1/api/x":   "https://host:1",
		"https://host/digdag":    "https://host",
		"[::1]:65432":            "http://[::1]:65432",
		"ftp://host":             "error",
		"http://":                "error",
		"host:port":              "error",
		"65432":                  "error",
		"host:70000":             "error",
		"http://a b":             "error",
		"user:password@host:123": "http://user:password@host:123",
	} {
		u, err := parseEndpoint(text)
		got := "error"
		if err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("endpoint %q is %s (%v), want %s", text, got, err, want)
		}
	}
}

// TestRepeats proves that a GET is tried ten times with growing pauses, that a final response ends the tries at once,
// and that requests that change something are not repeated.
func TestRepeats(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		status int
		call   func(context.Context, *Client) error
		want   int
	}{
		{"server error", 503, version, 10},
		{"timeout", 408, version, 10},
		{"too many", 429, version, 10},
		{"not found", 404, version, 1},
		{"redirect", 302, version, 1},
		{"kill", 503, func(ctx context.Context, c *Client) error { _, err := c.Kill(ctx, "1"); return err }, 1},
		{"push", 503, func(ctx context.Context, c *Client) error {
			_, err := c.Push(ctx, Push{Project: "p", Revision: "r"}, strings.NewReader("x"), 1)
			return err
		}, 1},
		{"secret", 500, func(ctx context.Context, c *Client) error { return c.SetSecret(ctx, "1", "k", "v") }, 1},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			w := &waits{}
			c := serve(t, Options{Wait: w.wait}, func(rw http.ResponseWriter, _ *http.Request) { n++; rw.WriteHeader(k.status) })
			err := k.call(t.Context(), c)
			if !hasStatus(err, k.status) || n != k.want {
				t.Errorf("%d requests, error %v", n, err)
			}
			for i := 1; i < len(w.list); i++ {
				if w.list[i] < w.list[i-1] || w.list[i] > longestWait {
					t.Errorf("pauses %v do not grow to the longest", w.list)
				}
			}
		})
	}
}

// TestTurnedAway proves that a request that was rejected before any work began is repeated for at most a minute,
// whatever the request does, and with its whole body, and that only API Gateway's wording counts as such a rejection.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	const many, gateway = `{"message":"Too Many Requests"}`, `{"message":"Service Unavailable"}`
	for name, k := range map[string]struct {
		status int
		body   string
		free   int // the number of the request that is let in; 0 for none
		want   string
	}{
		"too many, then free":    {429, many, 5, "done after 5"},
		"no place, then free":    {503, gateway, 5, "done after 5"},
		"too many for long":      {429, many, 0, "refused"},
		"no place for long":      {503, gateway, 0, "refused"},
		"words of another":       {503, `{"message":"service unavailable"}`, 5, "refused after 1"},
		"not there for a moment": {502, gateway, 5, "refused after 1"},
		"too many failed logins": {429, `{"message":"Too many failed logins: try again in 2 s"}`, 5, "refused after 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			w := &waits{}
			c := serve(t, Options{Wait: w.wait}, func(rw http.ResponseWriter, r *http.Request) {
				n++
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"value":"v"}` {
					t.Errorf("request %d has the body %q, %v", n, body, err)
				}
				if n != k.free {
					rw.WriteHeader(k.status)
					io.WriteString(rw, k.body)
				}
			})
			err := c.SetSecret(t.Context(), "1", "k", "v")
			got := fmt.Sprint("done after ", n)
			if err != nil {
				got = fmt.Sprint("refused after ", n)
			}
			total := time.Duration(0)
			for _, d := range w.list {
				total += d
			}
			switch {
			case k.want == "refused" && (!hasStatus(err, k.status) || total < patience/2 || total > patience+longestTurn):
				t.Errorf("%v after %v", err, total)
			case k.want != "refused" && got != k.want:
				t.Errorf("%s: %v", got, err)
			}
		})
	}
}

// TestSoon proves that API Gateway's wording does not count as a rejection if a function may have worked on the
// request.
func TestSoon(t *testing.T) {
	t.Parallel()
	e := &StatusError{Status: 503, Body: `{"message":"Service Unavailable"}`}
	if !e.isGateways(time.Second) || e.isGateways(30*time.Second) {
		t.Error("what is answered at once was turned away, what is answered after 30 seconds was not")
	}
}

func version(ctx context.Context, c *Client) error { _, err := c.Version(ctx); return err }

// TestRecovers proves that a temporary failure goes unnoticed by the caller.
func TestRecovers(t *testing.T) {
	t.Parallel()
	n := 0
	c := serve(t, Options{}, func(rw http.ResponseWriter, _ *http.Request) {
		if n++; n < 4 {
			rw.WriteHeader(500)
			return
		}
		io.WriteString(rw, `{"version":"1.2"}`)
	})
	if v, err := c.Version(t.Context()); v != "1.2" || err != nil {
		t.Errorf("version %q, %v", v, err)
	}
}

// TestUnreachableWithoutPort proves that the error about an address without a port explains the problem.
func TestUnreachableWithoutPort(t *testing.T) {
	t.Parallel()
	got := (&Unreachable{"http://localhost", errRefused}).Error()
	if want := "has no port, so port 80 was used; a server listens on port 65432 by default: --endpoint localhost:65432"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want a text that ends in %q", got, want)
	}
}

// TestUnreachable proves that users quickly learn that there is no server at an address, and what to do.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w := &waits{}
	err = version(t.Context(), connect(t, Options{Endpoint: address, Wait: w.wait}))
	var u *Unreachable
	if !errors.As(err, &u) || len(w.list) != triesToDial-1 || !strings.Contains(err.Error(), "no server answers at http://"+address+": connection refused\nhint: start one with `zerodag server`") {
		t.Errorf("after %d pauses: %v", len(w.list), err)
	}
	err = version(t.Context(), connect(t, Options{Endpoint: "no-such-host.invalid"}))
	if !errors.As(err, &u) {
		t.Errorf("unknown name: %v", err)
	}
	s := serve(t, Options{}, func(http.ResponseWriter, *http.Request) {})
	err = version(t.Context(), connect(t, Options{Endpoint: "https" + strings.TrimPrefix(s.URL(), "http")}))
	if err == nil || !strings.Contains(err.Error(), "use http:// as the endpoint") {
		t.Errorf("TLS to a plain server: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := version(ended, s); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// TestErrors proves that errors contain the wording that scripts written for Digdag search for.
func TestErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		404: "Resource not found: why", 409: "Request conflicted: why", 422: "Invalid option: why", 400: "Status code 400: why", 401: "Status code 401: why",
	} {
		c := serve(t, Options{}, func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "why", status) })
		if err := version(t.Context(), c); err == nil || err.Error() != want {
			t.Errorf("%d: %v", status, err)
		}
	}
	c := serve(t, Options{}, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "<html>") })
	if err := version(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is it a zerodag or Digdag server?") {
		t.Errorf("no JSON: %v", err)
	}
	c = serve(t, Options{}, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, `{"projects":[]}`) })
	if _, err := c.Project(t.Context(), "x"); !IsMissing(err) || err.Error() != "Resource not found: project not found: x" {
		t.Errorf("no project: %v", err)
	}
}

// TestSentOn proves that an error reports the redirect if an address sends callers elsewhere, for example to a login
// page.
func TestSentOn(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusMovedPermanently, http.StatusPermanentRedirect} {
		c := serve(t, Options{}, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://login.example.com/", status)
		})
		err := version(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "\nhint: the response redirects to https://login.example.com/: name the server itself with --endpoint") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestHeaders checks which headers are sent to the server, and that storage to which it redirects gets none of them.
func TestHeaders(t *testing.T) {
	t.Parallel()
	storage := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/one" {
			http.Redirect(rw, r, "/two", http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprintf(rw, "archive %q %q", r.Header.Get("X-Mine"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(storage.Close)
	var seen *http.Request
	c := serve(t, Options{Agent: "test/1", Header: http.Header{"X-Mine": {"yes"}, "Authorization": {"Bearer t"}}}, func(rw http.ResponseWriter, r *http.Request) {
		seen = r
		http.Redirect(rw, r, storage.URL+"/one", http.StatusSeeOther)
	})
	archive, err := c.Archive(t.Context(), "7", "r 1")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if text, err := io.ReadAll(archive); err != nil || string(text) != `archive "" ""` {
		t.Errorf("%s, %v", text, err)
	}
	got := []string{seen.URL.String(), seen.Header.Get("X-Mine"), seen.Header.Get("Authorization"), seen.Header.Get("User-Agent")}
	want := []string{"/api/projects/7/archive?revision=r+1", "yes", "Bearer t", "DigdagClient/" + APIVersion + " test/1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	loop := serve(t, Options{}, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/again", http.StatusFound) })
	if _, err := loop.Archive(t.Context(), "1", ""); !hasStatus(err, 302) {
		t.Errorf("endless redirects: %v", err)
	}
}

// TestPush checks how an archive is sent, and that progress is reported.
func TestPush(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	var body string
	done := int64(0)
	c := serve(t, Options{Progress: func(n, total int64) {
		if total != 7 || n < done {
			t.Errorf("progress %d of %d after %d", n, total, done)
		}
		done = n
	}}, func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		seen, body = r, string(text)
		io.WriteString(rw, `{"id":5,"name":"p","revision":"r","createdAt":"2024-03-01T02:03:04Z","updatedAt":"2024-03-01T02:03:04Z","deletedAt":null,"archiveType":"db","archiveMd5":null,"new":1}`)
	})
	p, err := c.Push(t.Context(), Push{Project: "p", Revision: "r", From: time.Date(2030, 1, 1, 9, 0, 0, 0, time.FixedZone("", 9*3600))}, strings.NewReader("content"), 7)
	if err != nil || p.ID != "5" {
		t.Fatalf("%+v, %v", p, err)
	}
	got := []string{seen.Method, seen.URL.String(), seen.Header.Get("Content-Type"), fmt.Sprint(seen.ContentLength), body, fmt.Sprint(done)}
	want := []string{"PUT", "/api/projects?project=p&revision=r&schedule_from=2030-01-01T00%3A00%3A00Z", "application/gzip", "7", "content", "7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogs proves that names of log files are escaped, that both forms of a direct link are read, and that the client
// also works without them.
func TestLogs(t *testing.T) {
	t.Parallel()
	var uris []string
	handler := func(rw http.ResponseWriter, r *http.Request) {
		uris = append(uris, r.RequestURI)
		switch {
		case strings.HasSuffix(r.URL.Path, "/files"):
			io.WriteString(rw, `{"files":[{"fileName":"+a@1.log.gz","direct":null},{"fileName":"b","direct":"http://`+r.Host+`/b"},{"fileName":"c","direct":{"url":"http://`+r.Host+`/c"}}]}`)
		default:
			io.WriteString(rw, r.URL.Path)
		}
	}
	c := serve(t, Options{}, handler)
	files, err := c.LogFiles(t.Context(), "3", "+a")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for i, want := range []string{"/api/logs/3/files/+a@1.log.gz", "/b", "/c"} {
		file, err := c.Log(t.Context(), "3", files[i])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(file)
		file.Close()
		if err != nil || string(text) != want {
			t.Errorf("file %d: %s, %v", i, text, err)
		}
	}
	want := []string{"/api/logs/3/files?task=%2Ba", "/api/logs/3/files/%2Ba%401.log.gz", "/b", "/c"}
	if diff := cmp.Diff(want, uris); diff != "" {
		t.Error(diff)
	}
	if got := c.LogURL("3", files[0]); got != c.URL()+"/api/logs/3/files/%2Ba%401.log.gz" {
		t.Error(got)
	}
	uris = nil
	c.NoDirect = true
	if _, err := c.LogFiles(t.Context(), "3", ""); err != nil || uris[0] != "/api/logs/3/files?direct_download=false&every=true" {
		t.Errorf("%v, %v", uris, err)
	}
}

// TestStartConflict proves that a conflict error contains the existing attempt.
func TestStartConflict(t *testing.T) {
	t.Parallel()
	body := `{"id":"33","sessionId":"21"}`
	c := serve(t, Options{}, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(409); io.WriteString(rw, body) })
	var exists *ExistsError
	if _, err := c.Start(t.Context(), Start{Workflow: "1"}); !errors.As(err, &exists) || exists.Attempt.ID != "33" || exists.Attempt.SessionID != "21" || !IsConflict(&exists.StatusError) {
		t.Errorf("%v", err)
	}
	body = `{"message":"x","status":409}`
	if _, err := c.Start(t.Context(), Start{Workflow: "1"}); errors.As(err, &exists) && exists.Attempt.ID == "" || !IsConflict(err) {
		t.Errorf("%v", err)
	}
}

// TestInsecure proves that an unknown certificate is refused unless the user allows it.
func TestInsecure(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, `{"version":"1"}`) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	w := &waits{}
	err := version(t.Context(), connect(t, Options{Endpoint: s.URL, Wait: w.wait}))
	if err == nil || !strings.Contains(err.Error(), "--disable-cert-validation") || len(w.list) > 0 {
		t.Errorf("an unknown certificate: %v after %d pauses", err, len(w.list))
	}
	if err := version(t.Context(), connect(t, Options{Endpoint: s.URL, Insecure: true})); err != nil {
		t.Error(err)
	}
}

// TestRevive proves that a revival proceeds batch by batch, each starting where the last one stopped, and is reported
// as a whole.
func TestRevive(t *testing.T) {
	t.Parallel()
	var asked []string
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		if r.URL.Query().Get("last_id") == "" {
			fmt.Fprint(w, `{"attempts":1000,"messages":990,"lastId":"77","together":false,"waitSeconds":1200}`)
			return
		}
		fmt.Fprint(w, `{"attempts":3,"messages":2,"together":false,"waitSeconds":1200}`)
	})
	got, err := c.Revive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (Revived{Attempts: 1003, Messages: 992, WaitSeconds: 1200}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if diff := cmp.Diff([]string{"POST /api/revive", "POST /api/revive?last_id=77"}, asked); diff != "" {
		t.Error(diff)
	}
}
