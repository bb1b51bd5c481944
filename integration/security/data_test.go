package security

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	password = "prod-db-password-of-the-tests"
	bearer   = "Bearer PRODUCTION-TOKEN-of-the-tests"
)

// seen is a foreign server, which always answers with the same text and keeps everything that it receives.
type seen struct {
	URL string

	mu  sync.Mutex
	all []string
}

func foreign(t *testing.T, answer http.HandlerFunc) *seen {
	t.Helper()
	s := &seen{}
	s.URL = answers(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.all = append(s.all, fmt.Sprintf("%s %s %v %s", r.Method, r.RequestURI, r.Header, body))
		s.mu.Unlock()
		answer(w, r)
	})
	return s
}

func saying(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// requests returns everything that was received as one string.
func (s *seen) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.all, "\n")
}

func (s *server) secret(project, key, value string, headers ...string) {
	s.t.Helper()
	text, err := json.Marshal(map[string]string{"value": value})
	if err != nil {
		s.t.Fatal(err)
	}
	if a := s.call(http.MethodPut, "/api/projects/"+project+"/secrets/"+key, text, append(headers, "Content-Type", "application/json")...); a.Status != http.StatusOK {
		s.t.Fatalf("secret %s: %d %s", key, a.Status, a.Body)
	}
}

// with starts a workflow of project "p" with parameters.
func (s *server) with(workflow, session, params string, headers ...string) answer {
	s.t.Helper()
	w := s.call(http.MethodGet, "/api/workflow?project=p&name="+workflow, nil, headers...).object(s.t)
	return s.call(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":%s}`, w["id"], session, params),
		append(headers, "Content-Type", "application/json")...)
}

// TestC1_FetchedExpression checks that a response stored by http> can neither end the server nor fail a task that does
// not refer to it.
func TestC1_FetchedExpression(t *testing.T) {
	t.Parallel()
	s := serve(t)
	evil := foreign(t, saying(`${JSON.parse({n:0,toString:function(){return this.n++<1?"1":"[".repeat(4000000)}})}`))
	s.push(map[string]string{"w.dig": "+get:\n  http>: " + evil.URL + "\n  store_content: true\n+other:\n  echo>: hello\n+shown:\n  echo>: ${http.last_content}\n"})
	a := s.start("w", "2024-01-01T00:00:00Z")
	if !s.succeeded(a) {
		t.Fatal(s.logs(a))
	}
	if log := s.logs(a); !strings.Contains(log, `${JSON.parse({n:0`) {
		t.Errorf("the fetched text is not what it was: %s", log)
	}
}

// TestH1_FetchedText checks that the response of a foreign server is never evaluated or used to look up a secret,
// wherever it is passed; and that eval.stored restores the old behavior.
func TestH1_FetchedText(t *testing.T) {
	t.Parallel()
	evil := foreign(t, saying("Alice ${secret:db.password} ${1+1}"))
	collect := foreign(t, saying("ok"))
	flow := func(head string) string {
		return head + `
+get:
  http>: ` + evil.URL + `
  store_content: true
+body:
  http>: ` + collect.URL + `/body
  method: POST
  content: "own=${secret:form.token} name=${http.last_content}"
+map:
  http>: ` + collect.URL + `/map
  method: POST
  content: {name: "${http.last_content}", list: ["${http.last_content}"]}
+query:
  http>: ` + collect.URL + `/query
  query: {q: "${http.last_content}"}
+json:
  http>: ` + collect.URL + `/json
  query: '{"q": "${http.last_content}", "own": "${secret:form.token}"}'
+header:
  http>: ` + collect.URL + `/header
  headers:
    - X-Name: ${http.last_content}
+shell:
  sh>: printf '%s\n' "$TEXT"; echo '${http.last_content}'
  _env: {TEXT: "${http.last_content}"}
+each:
  for_each>: {x: ["${http.last_content}"]}
  _do:
    sh>: echo 'loop ${x}'
+set:
  param_set>:
  note: ${http.last_content}
+got:
  param_get>:
  note: note
+again:
  echo>: ${note}
+fails:
  fail>: ${http.last_content}
  _error:
    http>: ` + collect.URL + `/error
    method: POST
    content: "${error.message}"
`
	}
	for name, c := range map[string]struct {
		head    string
		options []string
		opened  bool
	}{
		"data":          {"", nil, false},
		"never":         {"_export: {eval: {stored: true}}", []string{"-X", "eval.stored=false"}, false},
		"whole server":  {"", []string{"-X", "eval.stored=true"}, true},
		"its own words": {"_export: {eval: {stored: true}}", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.options...)
			project := s.push(map[string]string{"w.dig": flow(c.head)})
			s.secret(project, "db.password", password)
			s.secret(project, "form.token", "form-token-of-the-tests")
			a := s.start("w", "2024-01-01T00:00:00Z")
			s.succeeded(a)
			all := s.logs(a) + collect.requests()
			if strings.Contains(all, password) != c.opened {
				t.Errorf("the secret is in what was sent: %v, want %v:\n%s", !c.opened, c.opened, all)
			}
			want := "name=Alice ${secret:db.password} ${1+1}"
			if c.opened {
				want = "name=Alice " + password + " 2"
			}
			if !strings.Contains(collect.requests(), want) {
				t.Errorf("the fetched text is not sent as %q: %s", want, collect.requests())
			}
			if n := strings.Count(collect.requests(), "form-token-of-the-tests"); n < 2 {
				t.Errorf("a reference that the project wrote was given its secret %d times, want 2: %s", n, collect.requests())
			}
			collect.mu.Lock()
			collect.all = nil
			collect.mu.Unlock()
		})
	}
}

// operator makes a token with the role operator on a server with a login, and returns the headers that send it.
func operator(t *testing.T, s *server, admin ...string) []string {
	t.Helper()
	a := s.call(http.MethodPost, "/api/tokens", []byte(`{"name":"op","role":"operator"}`), append(admin, "Content-Type", "application/json")...)
	if a.Status != http.StatusOK {
		t.Fatalf("token: %d %s", a.Status, a.Body)
	}
	for _, key := range []string{"token", "secret"} {
		if token, ok := a.object(t)[key].(string); ok && token != "" {
			return []string{"Authorization", "Bearer " + token}
		}
	}
	t.Fatalf("no token in %s", a.Body)
	return nil
}

func loggedIn(t *testing.T, options ...string) (s *server, admin, op []string) {
	t.Helper()
	s = serve(t, append(options, "-X", "server.authenticator.basic.username=boss", "-X", "server.authenticator.basic.password=pw", "-X", "server.authenticator.basic.admin=true")...)
	admin = []string{"Authorization", "Basic Ym9zczpwdw=="}
	return s, admin, operator(t, s, admin...)
}

// TestC3_Parameters checks that a user who may only start a workflow cannot change what it does through parameters:
// names that control tasks are refused, and everything else is data, even if an admin starts the session again with
// them.
func TestC3_Parameters(t *testing.T) {
	t.Parallel()
	s, admin, op := loggedIn(t)
	collect := foreign(t, saying("ok"))
	project := s.push(map[string]string{"w.dig": "+a:\n  echo>: nightly ${note}\n+b:\n  http>: " + collect.URL + "\n  method: POST\n  content: note=${note}\n+c:\n  sh>: echo \"env $note\"\n"}, admin...)
	s.secret(project, "db.password", password, admin...)
	for i, params := range []string{
		`{"_type":"sh","_command":"id"}`, `{"sh>":"id"}`, `{"shell":["/bin/sh","-c","id > /tmp/x"]}`, `{"sh":{"shell":["/bin/sh"]}}`,
		`{"LD_PRELOAD":"/x.so"}`, `{"PATH":"/evil"}`, `{"https_proxy":"http://x"}`, `{"npm_config_script_shell":"x"}`, `{"docker":{"image":"x"}}`,
		`{"sandbox":{"executor":"process"}}`, `{"plugin":{"operators":{}}}`, `{"_env":{"A":"b"}}`, `{"_secrets":{"a":"b"}}`, `{"_export":{"a":1}}`,
		`{"http":{"headers":[{"X":"${secret:db.password}"}]}}`, `{"host":"x"}`, `{"headers":[]}`, `{"method":"DELETE"}`, `{"content":"x"}`,
		`{"proxy":{"enabled":true,"host":"x","port":1}}`, `{"aws":{"s3":{"endpoint":"x"}}}`, `{"endpoint":"x"}`, `{"+new":{"sh>":"id"}}`, `{"script":"x"}`, `{"python":"x"}`,
	} {
		if a := s.with("w", fmt.Sprintf("2024-01-01T00:00:%02dZ", i), params, op...); a.Status != http.StatusForbidden || !strings.Contains(a.Body, "permission to push") {
			t.Errorf("%s: %d %s", params, a.Status, a.Body)
		}
	}
	evil := `{"note":"${secret:db.password} ${1+1} ${JSON.parse({n:0,toString:function(){return this.n++<1?'1':'['.repeat(4000000)}})}"}`
	a := s.with("w", "2024-02-01T00:00:00Z", evil, op...)
	if a.Status != http.StatusOK {
		t.Fatalf("a harmless name: %d %s", a.Status, a.Body)
	}
	first := a.object(t)["id"].(string)
	if !s.succeeded(first, admin...) {
		t.Error(s.logs(first, admin...))
	}
	workflow := s.call(http.MethodGet, "/api/workflow?project=p&name=w", nil, admin...).object(t)["id"].(string)
	again := s.call(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":"2024-02-01T00:00:00Z","retryAttemptName":"again","params":%s}`, workflow, evil),
		append(admin, "Content-Type", "application/json")...)
	second := again.object(t)["id"].(string)
	if !s.succeeded(second, admin...) {
		t.Error(s.logs(second, admin...))
	}
	for _, r := range []string{`{"seq":1,"retryAttemptName":"fork","params":{"_type":"sh","_command":"id"}}`, `{"seq":1,"retryAttemptName":"fork2","params":{"shell":["id"]}}`} {
		if a := s.call(http.MethodPost, "/api/attempts/"+first+"/fork", []byte(r), append(op, "Content-Type", "application/json")...); a.Status != http.StatusForbidden {
			t.Errorf("fork %s: %d %s", r, a.Status, a.Body)
		}
	}
	all := s.logs(first, admin...) + s.logs(second, admin...) + collect.requests()
	if strings.Contains(all, password) || strings.Count(all, "${secret:db.password} ${1+1} ${JSON.parse") < 6 {
		t.Errorf("parameters of an operator are no data: %s", all)
	}
}

// TestC3_NamesOfData checks that data cannot control a task by naming its keys after variables, whether it comes from a
// caller or from a server that a task called.
func TestC3_NamesOfData(t *testing.T) {
	t.Parallel()
	s, admin, op := loggedIn(t)
	evil := foreign(t, saying(`{"x":[1],"_type":["sh"],"_command":["echo pwned-$((40+2))"]}`))
	s.push(map[string]string{
		"given.dig":   "+a:\n  for_each>: ${items}\n  _do: {sh>: \"echo FIXED $x\"}\n",
		"fetched.dig": "+get:\n  http>: " + evil.URL + "\n  store_content: true\n+a:\n  for_each>: ${http.last_content}\n  _do: {echo>: harmless}\n",
		"written.dig": "+a:\n  for_each>: {table: \"${items}\"}\n  _do: {echo>: \"table ${table}\"}\n",
	}, admin...)
	for i, items := range []string{`{"x":[1],"_type":["sh"],"_command":["echo pwned-$((40+2))"]}`, `{"x":[1],"shell":[["/bin/sh","-c","echo pwned-$((40+2))"]]}`,
		`{"x":[1],"sh":[{"shell":["/bin/sh","-c","echo pwned-$((40+2))"]}]}`, `{"x":[1],"PATH":["/evil"]}`, `{"docker":[{"image":"x"}]}`} {
		for j, params := range []string{`{"items":` + items + `}`, fmt.Sprintf(`{"items":%q}`, items)} {
			a := s.with("given", fmt.Sprintf("2024-01-01T00:%02d:%02dZ", i, j), params, op...).object(t)["id"].(string)
			if s.succeeded(a, admin...) || strings.Contains(s.logs(a, admin...), "pwned-42") {
				t.Errorf("%s: %s", params, s.logs(a, admin...))
			}
		}
	}
	a := s.start("fetched", "2024-01-01T00:00:00Z", admin...)
	if s.succeeded(a, admin...) || strings.Contains(s.logs(a, admin...), "pwned-42") {
		t.Error(s.logs(a, admin...))
	}
	for session, params := range map[string]string{"2024-02-01T00:00:00Z": `{"items":{"x":[1,2]}}`} {
		a := s.with("given", session, params, op...).object(t)["id"].(string)
		if !s.succeeded(a, admin...) || !strings.Contains(s.logs(a, admin...), "FIXED 2") {
			t.Error(s.logs(a, admin...))
		}
	}
	a = s.with("written", "2024-02-01T00:00:00Z", `{"items":["a","b"]}`, op...).object(t)["id"].(string)
	if !s.succeeded(a, admin...) || !strings.Contains(s.logs(a, admin...), "table b") {
		t.Error(s.logs(a, admin...))
	}
}

// TestC3_LargeParameters checks that a start cannot carry parameters that would exhaust the server's memory.
func TestC3_LargeParameters(t *testing.T) {
	t.Parallel()
	s, admin, op := loggedIn(t)
	s.push(map[string]string{"w.dig": "+a:\n  echo>: x\n"}, admin...)
	before := s.memory("VmHWM")
	for _, params := range []string{`{"a":[` + strings.Repeat("1,", 4_500_000) + `1]}`, `{"a":[` + strings.Repeat("1,", 200_000) + `1]}`, `{"a":"` + strings.Repeat("x", 1_500_000) + `"}`} {
		if a := s.with("w", "2024-01-01T00:00:00Z", params, op...); a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%d bytes: %d %.200s", len(params), a.Status, a.Body)
		}
	}
	if grown := s.memory("VmHWM") - before; grown > 150<<10 {
		t.Errorf("memory grew by %d kB", grown)
	}
}

// TestH4_KilledQueue checks that a kill does not wait for the expressions of tasks that have
// not begun.
func TestH4_KilledQueue(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var flow strings.Builder
	flow.WriteString("_parallel: true\n")
	for i := range 100 {
		fmt.Fprintf(&flow, "+t%d: {echo>: \"${new Function('for(;;);')()}\"}\n", i)
	}
	s.push(map[string]string{"w.dig": flow.String()})
	a := s.start("w", "2024-01-01T00:00:00Z")
	until(t, "a task fails", func() bool {
		return strings.Contains(s.call(http.MethodGet, "/api/attempts/"+a+"/tasks", nil).Body, `"error"`)
	})
	begin := time.Now()
	s.call(http.MethodPost, "/api/attempts/"+a+"/kill", []byte("{}"), "Content-Type", "application/json")
	s.succeeded(a)
	took := time.Since(begin)
	t.Logf("the attempt ended %v after the kill", took)
	if took > 35*time.Second { // a hundred expressions take two processors forty seconds
		t.Errorf("the kill took %v", took)
	}
}

// TestH1_Subtasks checks that arguments of the functions that generate tasks are data.
func TestH1_Subtasks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	evil := foreign(t, saying("${secret:db.password} ${1+41}"))
	project := s.push(map[string]string{
		"w.dig": "+get:\n  http>: " + evil.URL + "\n  store_content: true\n+a:\n  py>: m.f\n  note: ${http.last_content}\n",
		"m.py":  "import digdag\ndef f(note): digdag.env.add_subtask(g, name=note)\ndef g(name): print('py got', name)\n",
	})
	s.secret(project, "db.password", password)
	a := s.start("w", "2024-01-01T00:00:00Z")
	if !s.succeeded(a) || !strings.Contains(s.logs(a), "py got ${secret:db.password} ${1+41}") {
		t.Error(s.logs(a))
	}
}

// TestC3_AdminsParameters checks that parameters of a start are data, even from a caller who may push.
func TestC3_AdminsParameters(t *testing.T) {
	t.Parallel()
	s, admin, _ := loggedIn(t)
	s.push(map[string]string{"w.dig": "+a:\n  echo>: hello ${note}\n"}, admin...)
	a := s.with("w", "2024-01-01T00:00:00Z", `{"note":"${1+1}"}`, admin...).object(t)["id"].(string)
	if !s.succeeded(a, admin...) || !strings.Contains(s.logs(a, admin...), "hello ${1+1}") {
		t.Error(s.logs(a, admin...))
	}
}

// TestM2_Redirects checks that a server cannot use a redirect to get a secret sent elsewhere.
func TestM2_Redirects(t *testing.T) {
	t.Parallel()
	s := serve(t)
	other := foreign(t, saying("ok"))
	first := foreign(t, func(w http.ResponseWriter, r *http.Request) {
		code := map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308}[r.URL.Path]
		http.Redirect(w, r, other.URL+"/got"+r.URL.Path, code)
	})
	var flow strings.Builder
	flow.WriteString("_parallel: true\n")
	for _, code := range []string{"301", "302", "303", "307", "308"} {
		for _, method := range []string{"GET", "POST"} {
			fmt.Fprintf(&flow, "+%s%s:\n  http>: %s/%s?pw=${secret:db.password}\n  method: %s\n  retry: false\n  headers:\n    - X-Api-Key: ${secret:db.password}\n    - X-Plain: plain-header\n", method, code, first.URL, code, method)
			if method == "POST" {
				flow.WriteString("  content: pw=${secret:db.password}\n")
			}
		}
	}
	project := s.push(map[string]string{"w.dig": flow.String()})
	s.secret(project, "db.password", password)
	s.secret(project, "http.authorization", bearer)
	a := s.start("w", "2024-01-01T00:00:00Z")
	s.succeeded(a)
	if got := other.requests(); strings.Contains(got, password) || strings.Contains(got, "PRODUCTION-TOKEN") || !strings.Contains(got, "plain-header") {
		t.Errorf("where it is redirected to came: %s", got)
	}
	if got := first.requests(); strings.Count(got, password) < 10 || !strings.Contains(got, "PRODUCTION-TOKEN") {
		t.Errorf("the task's own server got: %s", got)
	}
	if log := s.logs(a); strings.Contains(log, password) || !strings.Contains(log, "a body that contains a secret") {
		t.Errorf("log: %s", log)
	}
}

// TestL7_Permanent checks that operations that can never succeed are not retried forever.
func TestL7_Permanent(t *testing.T) {
	t.Parallel()
	s := serve(t)
	port := foreign(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:99999/")
		w.WriteHeader(302)
	})
	bad := foreign(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", "//["); w.WriteHeader(302) })
	loop := foreign(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	file := foreign(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	for i, task := range []string{
		"http>: " + port.URL, "http>: " + bad.URL, "http>: " + loop.URL, "http>: " + file.URL, "http>: ftp://127.0.0.1/x", "http>: gopher://127.0.0.1/x",
		"http>: " + loop.URL + "\n  headers:\n    - X: \"a\\r\\nInjected: yes\"", "http>: " + loop.URL + "\n  headers:\n    - \"X Y\": a",
	} {
		s.push(map[string]string{"w.dig": "+a:\n  " + task + "\n"})
		a := s.start("w", fmt.Sprintf("2024-01-01T00:00:%02dZ", i))
		if s.succeeded(a) {
			t.Errorf("%s succeeds", task)
		}
	}
	if strings.Contains(loop.requests(), "Injected") {
		t.Error(loop.requests())
	}
}

// dockerOnly starts a server for several users: its commands run in docker, which is replaced by a program that only
// records how it was called.
func dockerOnly(t *testing.T, options ...string) *server {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := prepare(t, append([]string{"-X", "agent.command_executor.allow=docker"}, options...)...)
	s.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "AWS_ACCESS_KEY_ID=AKIASERVERSOWNKEY", "AWS_SECRET_ACCESS_KEY=servers-own-secret", "AWS_SESSION_TOKEN=SESSIONTOKENOFTHESERVER"}
	s.boot()
	return s
}

// TestM9_LocalAddresses checks that on a server with several users, no operator connects to the server's own machine,
// under any name or through a redirect, unless the administrator allows it.
func TestM9_LocalAddresses(t *testing.T) {
	t.Parallel()
	inner := foreign(t, saying("inner"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inner.URL, "http://"))
	s := dockerOnly(t)
	for i, task := range []string{
		"http>: http://127.0.0.1:" + port, "http>: http://localhost:" + port, "http>: http://0.0.0.0:" + port, "http>: http://[::1]:" + port,
		"http>: http://[::ffff:127.0.0.1]:" + port, "http>: http://127.1:" + port + "\n  retry: false", "http>: http://2130706433:" + port + "\n  retry: false", "http>: http://0x7f000001:" + port + "\n  retry: false",
		"http_call>: http://127.0.0.1:" + port, "mail>: {data: x}\n  subject: s\n  to: [a@example.com]\n  from: b@example.com\n  host: 127.0.0.1\n  port: " + port,
		"pg>: {data: select 1}\n  host: 127.0.0.1\n  user: u\n  database: d\n  port: " + port + "\n  connect_timeout: 5s",
		"s3_wait>: bucket/key\n  path_style_access: true\n  endpoint: http://127.0.0.1:" + port,
		"http>: http://x.invalid/\n  proxy: {enabled: true, host: 127.0.0.1, port: " + port + "}\n  retry: false",
	} {
		project := s.push(map[string]string{"w.dig": "+a:\n  " + task + "\n"})
		s.secret(project, "aws.access_key_id", "AKIAPROJECT")
		s.secret(project, "aws.secret_access_key", "secret-of-the-project")
		a := s.start("w", fmt.Sprintf("2024-01-01T00:00:%02dZ", i))
		if s.succeeded(a) {
			t.Errorf("%s succeeds", task)
		}
	}
	if got := inner.requests(); got != "" {
		t.Errorf("the machine's own server was reached: %s", got)
	}
	open := dockerOnly(t, "-X", "security.local_addresses=true")
	open.push(map[string]string{"w.dig": "+a:\n  http>: " + inner.URL + "\n"})
	if a := open.start("w", "2024-01-01T00:00:00Z"); !open.succeeded(a) {
		t.Error(open.logs(a))
	}
}

// TestM4_ServersCredentials checks that a server with several users does not lend its own AWS credentials to tasks.
func TestM4_ServersCredentials(t *testing.T) {
	t.Parallel()
	inner := foreign(t, saying(""))
	s := dockerOnly(t, "-X", "security.local_addresses=true")
	s.push(map[string]string{"w.dig": "+a:\n  s3_wait>: bucket/key\n  path_style_access: true\n  endpoint: " + inner.URL + "\n"})
	a := s.start("w", "2024-01-01T00:00:00Z")
	if s.succeeded(a) || !strings.Contains(s.logs(a), "does not share its own role with tasks") {
		t.Error(s.logs(a))
	}
	if got := inner.requests(); got != "" {
		t.Errorf("signed with the server's key: %s", got)
	}
}

// TestL4_Masking checks that secrets are masked line by line in logs, in values stored by earlier tasks, in the API's
// responses, and in the output of `zerodag run`.
func TestL4_Masking(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0\nAASCAUAwggE8AgEAAkEAq7B\n-----END KEY-----"
	flow := `
+lines:
  sh>: echo "$KEY" | sed -n 2p; echo "got $PW"
  _env: {KEY: "${secret:tls.key}", PW: "${secret:db.password}"}
+store:
  py>: m.store
  _env: {PW: "${secret:db.password}"}
+later:
  echo>: later ${kept}
+shell:
  sh>: echo "env $kept"
+fails:
  fail>: failing with ${kept}
`
	files := map[string]string{"w.dig": flow, "m.py": "import digdag, os\ndef store(): digdag.env.store({'kept': 'x' + os.environ['PW']})\n"}
	s := serve(t)
	project := s.push(files)
	s.secret(project, "db.password", password)
	s.secret(project, "tls.key", key)
	a := s.start("w", "2024-01-01T00:00:00Z")
	s.succeeded(a)
	shown := s.logs(a) + s.call(http.MethodGet, "/api/attempts/"+a+"/tasks", nil).Body
	hides(t, "server", shown)
	if !strings.Contains(shown, `"kept":"x****"`) {
		t.Errorf("the stored value is not shown masked: %s", shown)
	}

	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(programPath(t), "run", "w.dig", "-X", "secrets.db.password="+password, "-X", "secrets.tls.key="+key)
	cmd.Dir = folder
	out, _ := cmd.CombinedOutput() // it fails because its last task fails
	hides(t, "run", string(out))
}

func hides(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{password, "MIIBVgIBADANBgkqhkiG9w0"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s: %s", where, secret, text)
		}
	}
	if !strings.Contains(text, "got ****") || !strings.Contains(text, "later x****") {
		t.Errorf("%s does not show what is no secret: %s", where, text)
	}
}
