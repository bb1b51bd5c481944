package rest_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/integration/server"
	"zerodag/integration/stack"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/iam"
	"zerodag/internal/node"
	"zerodag/internal/notice"
	"zerodag/internal/postgres"
	"zerodag/internal/shared"
)

// recordedVersion is the version of the server whose responses were recorded.
const recordedVersion = "0.10.6-SNAPSHOT"

// running is a server: a complete one in memory, or a separate site on a deployed stack.
type running struct {
	URL  string
	spec *description
	site int64  // used in place of site 0
	stop func() // begins the shutdown: streams end

	engine *embedded.Engine // of the server in memory
	stack  *stack.Stack     // that is deployed
}

// serve makes a server with options, which apply only to a server in memory.
func serve(t *testing.T, options httpapi.Options) *running {
	t.Helper()
	if deployed, ok := stack.Find(); ok {
		return &running{URL: deployed.URL, spec: describe(t), site: stack.FreshSite(), stack: deployed}
	}
	stopping := make(chan struct{})
	var handlers []http.Handler
	var first *embedded.Engine
	for _, o := range places(t) {
		engine := run(t, o)
		if first == nil {
			first = engine
		}
		of := options
		of.Node, of.Version, of.Stopping, of.Vitals = engine.Node, recordedVersion, stopping, engine.Vitals
		of.Census, of.Meter, of.Outbox, of.Alerts = engine.DB.Census, engine.Meter, engine.DB, engine.Alerts()
		of.Depths, of.Queued, of.Servers = engine.DB.Depths, engine.DB.Queued, engine.DB
		of.Auth.Tokens, of.Auth.Audit, of.Auth.Seal = engine.DB, engine.DB, cmp.Or(options.Auth.Seal, first.Seal)
		of.Bound = "127.0.0.1" // like `zerodag server`: the recorded calls must pass its rules
		of.Limits.Watch = 20 * time.Millisecond
		handler, err := httpapi.New(of)
		if err != nil {
			t.Fatal(err)
		}
		handlers = append(handlers, handler)
	}
	turn := atomic.Int64{}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[int(turn.Add(1))%len(handlers)].ServeHTTP(w, r)
	}))
	server := &running{URL: listening.URL, engine: first, stack: &stack.Stack{Commands: true}, stop: sync.OnceFunc(func() { close(stopping) }), spec: describe(t)}
	t.Cleanup(func() {
		server.stop()
		listening.Close()
	})
	return server
}

// places returns where a server's data is stored: in memory, or in a database that two servers share (package servers).
func places(t *testing.T) []embedded.Options {
	t.Helper()
	own := embedded.Options{Temp: t.TempDir(), Migrate: true, SecretKeys: [][]byte{[]byte(server.Key)}, Notices: alerts()}
	place, found := server.Found()
	if !found {
		return []embedded.Options{own}
	}
	var list []embedded.Options
	for range 2 {
		both, err := shared.Open(t.Context(), shared.Options{Database: postgres.Options{URL: place.URL(), Schema: place.Schema, Migrate: true, SecretKeys: own.SecretKeys, Connections: 4}})
		if err != nil {
			t.Fatal(err)
		}
		o := own
		o.Folder, o.Shared = t.TempDir(), both
		list = append(list, o)
	}
	return list
}

// several reports whether tests of one server run against two.
func several() bool {
	_, found := server.Found()
	return found
}

// run runs an engine until the test ends.
func run(t *testing.T, o embedded.Options) *embedded.Engine {
	t.Helper()
	engine, err := embedded.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		engine.Run(ctx, ctx, node.Parts{Executor: true, Scheduler: true, Agent: true})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// open makes a server and returns a caller with all rights in site 0.
func open(t *testing.T) caller {
	t.Helper()
	server := serve(t, httpapi.Options{})
	if server.deployed() {
		return caller{server, t, server.token(t, 0, "admin")}
	}
	return caller{server, t, ""}
}

func (s *running) deployed() bool { return s.engine == nil }

// token makes a bearer token.
func (s *running) token(t *testing.T, site int64, role string) string {
	t.Helper()
	if s.deployed() {
		return s.stack.SiteToken(t, s.site+site, role)
	}
	return s.tokenFor(t, host.Token{Site: site, Role: role})
}

// tokenFor makes a bearer token with more than a site and a role.
func (s *running) tokenFor(t *testing.T, token host.Token) string {
	t.Helper()
	if s.deployed() && len(token.Projects) == 0 {
		return s.token(t, token.Site, token.Role)
	}
	if s.deployed() {
		t.Skip("NOT RUN on a deployed stack: its command makes plain tokens only")
	}
	secret, hash := access.NewToken()
	token.Name, token.Hash, token.CreatedAt = cmp.Or(token.Name, token.Role), hash, time.Now()
	if _, err := s.engine.DB.Create(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return secret
}

// signed, in place of a token, stands for the signature of the environment's AWS credentials.
const signed = "signed"

// caller calls a server with a token, "" for none. Each response is checked against docs/openapi.yaml.
type caller struct {
	*running
	t     *testing.T
	token string
}

// call sends a request; a body is JSON text or an archive.
func (c caller) call(method, path string, body any) answer {
	c.t.Helper()
	var reader io.Reader
	contentType := ""
	switch b := body.(type) {
	case string:
		reader, contentType = strings.NewReader(b), "application/json"
	case []byte:
		reader, contentType = bytes.NewReader(b), "application/gzip"
	}
	if c.token == signed {
		path = "/iam" + path
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("X-Zerodag-Request", "page")
	return c.send(request)
}

func (c caller) send(request *http.Request) answer {
	c.t.Helper()
	if c.token == signed {
		if err := iam.New(c.t.Context()).Sign(request); err != nil {
			c.t.Fatal(err)
		}
	} else if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := answer{response.StatusCode, response.Header, content}
	if a.header.Get("Content-Encoding") == "" {
		for _, d := range c.spec.check(request.Method, strings.TrimPrefix(request.URL.EscapedPath(), "/iam"), a) {
			c.t.Errorf("%s %s: %s", request.Method, request.URL, d)
		}
	}
	return a
}

// must is like call for requests that have to succeed; it decodes the response.
func (c caller) must(method, path string, body any) object {
	c.t.Helper()
	a := c.call(method, path, body)
	var v object
	if a.status != http.StatusOK || json.Unmarshal(a.content, &v) != nil {
		c.t.Fatalf("%s %s: %d %s", method, path, a.status, a.content)
	}
	return v
}

// first returns the first row of a list.
func (c caller) first(path string) object {
	c.t.Helper()
	for _, list := range c.must(http.MethodGet, path, nil) {
		if rows := list.([]any); len(rows) > 0 {
			return rows[0].(object)
		}
	}
	c.t.Fatalf("GET %s: nothing", path)
	return nil
}

// push pushes revision r of project p and returns the project's id.
func (c caller) push(archive []byte) string {
	c.t.Helper()
	return c.must(http.MethodPut, "/api/projects?project=p&revision=r", archive)["id"].(string)
}

// run starts a workflow of a project and waits for its end.
func (c caller) run(project, workflow string) string {
	c.t.Helper()
	a := c.start(project, workflow, "2024-01-02T00:00:00Z")
	c.ended(a)
	return a
}

// start starts a workflow and returns the attempt's id.
func (c caller) start(project, workflow, session string) string {
	c.t.Helper()
	w := c.must(http.MethodGet, "/api/workflow?project="+project+"&name="+workflow, nil)
	a := c.must(http.MethodPut, "/api/attempts", fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, w["id"], session))
	return a["id"].(string)
}

// ended waits for the end of an attempt and returns it.
func (c caller) ended(attempt string) object {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // polls, like clients of this API
		if a := c.must(http.MethodGet, "/api/attempts/"+attempt, nil); a["done"] == true {
			return a
		}
	}
	c.t.Fatalf("attempt %s does not end", attempt)
	return nil
}

// archive packs files.
func archive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		_, _ = w.Write([]byte(files[name]))
	}
	_ = w.Close() // into memory: cannot fail
	_ = z.Close()
	return b.Bytes()
}

// project returns an archive with the workflows of the recorded pushes.
func (s *running) project() []byte {
	slow, b := "sh>: sleep 3", "sh>: echo b"
	if s.deployed() {
		slow = "sh>: " + slowly
	}
	if !s.stack.Commands {
		slow, b = "wait>: 60s", "echo>: b"
	}
	return archive(map[string]string{
		"slow.dig":  "+a:\n  " + slow + "\n",
		"sched.dig": "schedule:\n  daily>: 07:00:00\n+a:\n  echo>: s\n",
		"main.dig":  "timezone: Asia/Tokyo\n+a:\n  echo>: hello\n+b:\n  " + b + "\n",
		"bad.dig":   "+a:\n  fail>: oops\n",
	})
}

// alerts returns channels that send nothing, because Digdag was recorded without notifications: one that accepts
// everything, and one that refuses it.
func alerts() notice.OutboxOptions {
	return notice.OutboxOptions{Channels: []notice.Channel{{Name: "ops", Type: "webhook", Sender: silent("")}, {Name: "broken", Type: "slack", Sender: silent("no_service")}},
		Routes: []notice.Route{{Name: "main", Channels: []string{"ops", "broken"}, Projects: []string{"none"}, Kinds: []host.NoticeKind{host.NoticeSLA}, Quiet: time.Hour}}}
}

// silent is a receiver that discards notices. It responds with the error, unless that is "".
type silent string

func (s silent) Send(context.Context, *param.Map) (string, error) {
	if s != "" {
		return "", errors.New(string(s))
	}
	return "200 OK", nil
}
