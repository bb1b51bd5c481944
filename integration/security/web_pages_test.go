package security

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// daily gives the server a schedule to enable, schedule 1.
var daily = map[string]string{"daily.dig": "schedule:\n  daily>: 07:00:00\n+a:\n  echo>: s\n", "main.dig": "+a:\n  echo>: hello\n"}

// TestC2_NoLogin checks that a listener without login refuses foreign names (DNS rebinding), pages from other origins,
// and every change that a page can send without a preflight, with and without a body, and that programs and the
// server's own console keep working.
func TestC2_NoLogin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.push(daily)
	attempt := s.start("main", "2024-01-01T00:00:00Z")
	s.succeeded(attempt)
	port, json := s.port(), "application/json"
	own := "http://" + s.Addr
	enable, fork := "/api/schedules/1/enable", "/api/attempts/"+attempt+"/fork"
	body := []byte(`{"seq":1,"retryAttemptName":"x","params":{"shell":["/bin/sh"]}}`)
	type request struct {
		name, method, path string
		body               []byte
		status             int
		headers            []string
	}
	var list []request
	for _, host := range []string{"evil.example:" + port, "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.1.2.3", "0.0.0.0:" + port, "[::ffff:8.8.8.8]", "127.0.0.1:x@evil", "2130706433"} {
		for _, m := range []string{"GET /api/projects", "GET /api/version", "GET /api/health", "GET /", "PUT /api/attempts", "DELETE /api/projects/1", "OPTIONS /api/projects", "POST " + enable} {
			method, path, _ := strings.Cut(m, " ")
			list = append(list, request{"host " + host, method, path, nil, 403, []string{"Host", host, "Content-Type", json}})
		}
	}
	for _, h := range [][]string{{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:3000"}, {"Origin", "file://"}, {"Origin", own + ".evil.example"}, {"Origin", "http://127.0.0.1"},
		{"Origin", own, "Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site", "Origin", own},
		{"Sec-Fetch-Site", "same-origin", "Origin", "http://evil.example"}, {"Sec-Fetch-Site", ""}} {
		for _, m := range []string{"GET /api/projects", "POST " + fork, "PUT /api/attempts", "DELETE /api/projects/1", "OPTIONS /api/projects"} {
			method, path, _ := strings.Cut(m, " ")
			list = append(list, request{strings.Join(h, " "), method, path, nil, 403, append([]string{"Content-Type", json}, h...)})
		}
	}
	for _, path := range []string{fork, enable, "/api/schedules/1/disable", "/api/schedules/1/skip", "/api/schedules/1/backfill", "/api/attempts/" + attempt + "/kill", "/api/tokens"} {
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", "nothing", "APPLICATION/X-WWW-FORM-URLENCODED"} {
			for _, b := range [][]byte{nil, body} {
				headers := []string{"Content-Type", kind}
				if kind == "" {
					headers = nil
				}
				list = append(list, request{"type " + kind, "POST", path, b, 4, headers})
			}
		}
	}
	list = append(list, request{"JSON without a type", "PUT", "/api/attempts", body, 415, nil},
		request{"a program", "POST", enable, nil, 200, []string{"Content-Type", json}},
		request{"Digdag's library", "POST", enable, []byte("{}"), 200, []string{"Content-Type", json, "User-Agent", "DigdagClient/0.10.5"}},
		request{"its own console", "POST", enable, []byte("{}"), 200, []string{"Content-Type", "application/json; charset=utf-8", "Origin", own, "Sec-Fetch-Site", "same-origin"}},
		request{"by name", "GET", "/api/projects", nil, 200, []string{"Host", "LocalHost:" + port}},
		request{"without a port", "GET", "/api/projects", nil, 200, []string{"Host", "localhost"}},
		request{"by a tunnel", "GET", "/api/projects", nil, 200, []string{"Host", "localhost:8080"}},
		request{"IPv6", "GET", "/api/projects", nil, 200, []string{"Host", "[::1]:" + port}},
		request{"typed by its user", "GET", "/api/projects", nil, 200, []string{"Sec-Fetch-Site", "none"}},
		request{"its own page", "GET", "/api/projects", nil, 200, []string{"Sec-Fetch-Site", "same-origin"}})
	for _, r := range list {
		a := s.call(r.method, r.path, r.body, r.headers...)
		if a.Status != r.status && (r.status != 4 || a.Status/100 != 4) {
			t.Errorf("%s: %s %s: %d %.200s, want %d", r.name, r.method, r.path, a.Status, a.Body, r.status)
		}
	}
	if a := s.raw("GET /api/projects HTTP/1.0\r\n\r\n"); a.Status != 403 {
		t.Errorf("no Host: %d %s", a.Status, a.Body)
	}
	if list := s.call("GET", "/api/attempts?include_retried=true", nil).object(t)["attempts"].([]any); len(list) != 1 {
		t.Errorf("%d attempts, want the one that was started", len(list))
	}
}

// TestC2_Hosts checks that a listener on all addresses accepts only its addresses and the configured names.
func TestC2_Hosts(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.http.hosts=flows.example, other.example")
	for host, status := range map[string]int{"flows.example": 200, "OTHER.example:80": 200, "flows.example.": 200, "evil.example": 403, "x.flows.example": 403} {
		if a := s.call("GET", "/api/projects", nil, "Host", host); a.Status != status {
			t.Errorf("%s: %d %s, want %d", host, a.Status, a.Body, status)
		}
	}
}

// TestC2_Login checks that a browser that knows the password does nothing for a page from another origin, that programs
// with a password need no additional header, and that CORS is refused if there is no login.
func TestC2_Login(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.authenticator.basic.username=u", "-X", "server.authenticator.basic.password=p")
	login := []string{"Authorization", "Basic dTpw"}
	s.push(daily, login...)
	for _, c := range []struct {
		name    string
		body    []byte
		status  int
		headers []string
	}{
		{"curl", nil, 200, nil},
		{"curl with an empty form", []byte{}, 200, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"another origin", nil, 403, []string{"Origin", "http://evil.example"}},
		{"another origin, JSON", []byte("{}"), 403, []string{"Origin", "http://evil.example", "Content-Type", "application/json"}},
		{"cross-site", nil, 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"sandboxed page", nil, 403, []string{"Origin", "null"}},
		{"its own page behind a proxy", []byte("{}"), 200, []string{"Origin", "https://flows.example", "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}},
		{"by any name", nil, 200, []string{"Host", "flows.example"}},
	} {
		if a := s.call("POST", "/api/schedules/1/enable", c.body, append(c.headers, login...)...); a.Status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, a.Status, a.Body, c.status)
		}
	}
	if a := s.call("POST", "/api/tokens", []byte(`{"name":"x","role":"admin"}`), login...); a.Status != 415 {
		t.Errorf("JSON without a type by a password: %d %s", a.Status, a.Body)
	}
	made := s.call("POST", "/api/tokens", []byte(`{"name":"x","role":"admin"}`), append(login, "Content-Type", "application/json")...).object(t)
	if a := s.call("POST", "/api/tokens", []byte(`{"name":"y","role":"viewer"}`), "Authorization", fmt.Sprint("Bearer ", made["token"])); a.Status != 200 {
		t.Errorf("JSON without a type by a token: %d %s", a.Status, a.Body)
	}
	out, err := exec.Command(programPath(t), "server", "-n", "0", "--memory", "--enable-swagger", "-c", os.DevNull).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "server.authenticator.type = token") {
		t.Errorf("--enable-swagger without login: %v %s", err, out)
	}
}

// TestC2_CORS checks that pages that the configuration allows must still pass a browser's preflight.
func TestC2_CORS(t *testing.T) {
	t.Parallel()
	s := serve(t, "--enable-swagger", "-X", "server.authenticator.basic.username=u", "-X", "server.authenticator.basic.password=p")
	page := []string{"Authorization", "Basic dTpw", "Origin", "http://other.example", "Sec-Fetch-Site", "cross-site"}
	s.push(daily, page...)
	if a := s.call("GET", "/api/projects", nil, page...); a.Status != 200 || a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a page that may read: %d %v", a.Status, a.Header)
	}
	for kind, status := range map[string]int{"application/json": 200, "text/plain": 415, "application/x-www-form-urlencoded": 415} {
		if a := s.call("POST", "/api/schedules/1/enable", nil, append(page, "Content-Type", kind)...); a.Status != status {
			t.Errorf("%s: %d %s, want %d", kind, a.Status, a.Body, status)
		}
	}
}

// TestL11_RootIsWarned checks that a server that runs as root without login warns about the consequences, and that a
// server with a login does not.
func TestL11_RootIsWarned(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		required(t, "root", "only root is warned")
	}
	const words = "runs as root and requires no login"
	if s := serve(t); !strings.Contains(s.log(), words) {
		t.Errorf("no warning: %s", s.log())
	}
	if s := serve(t, "-X", "server.authenticator.type=token"); strings.Contains(s.log(), words) {
		t.Errorf("a warning for nothing: %s", s.log())
	}
}

// attackPage tries everything that a page can send to another origin without a preflight. It runs in Node, whose fetch
// sends no Origin, and in a browser.
const attackPage = `
async function attack(base) {
  const body = new TextEncoder().encode(JSON.stringify({seq: 1, retryAttemptName: "csrf" + Math.random(), params: {}}));
  const bodies = [body, new Blob([body]), new Blob([body], {type: "application/json"}), new Blob([body], {type: "text/plain"}), new URLSearchParams({a: "b"}), "text", undefined];
  let sent = 0;
  for (const path of ["/api/attempts/1/fork", "/api/schedules/1/disable", "/api/schedules/1/backfill", "/api/attempts/1/kill", "/api/tokens"])
    for (const b of bodies) {
      for (const mode of ["no-cors", "cors"])
        try { await fetch(base + path, {method: "POST", mode, body: b, credentials: "include"}); sent++; } catch (e) { sent++; }
    }
  return sent;
}
`

// TestC2_NodeFetch checks that no request that fetch sends without a preflight changes anything: Node's fetch sends no
// Origin, so the content type alone must be enough.
func TestC2_NodeFetch(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		required(t, "node", "it is not installed")
	}
	s := serve(t)
	s.push(daily)
	s.succeeded(s.start("main", "2024-01-01T00:00:00Z"))
	// Blobs with a type are omitted: Node sends their type, but a browser makes a preflight request first.
	script := strings.Replace(attackPage, `new Blob([body], {type: "application/json"}), `, "", 1) + `attack(process.argv[2]).then(n => console.log("sent", n))`
	file := filepath.Join(t.TempDir(), "attack.mjs")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, file, "http://"+s.Addr).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "sent 60") {
		t.Fatalf("the attack did not run: %v %s", err, out)
	}
	s.untouched()
}

// untouched fails if an attack changed anything.
func (s *server) untouched() {
	s.t.Helper()
	if list := s.call("GET", "/api/attempts?include_retried=true", nil).object(s.t)["attempts"].([]any); len(list) != 1 {
		s.t.Errorf("%d attempts, want 1", len(list))
	}
	if at := s.call("GET", "/api/schedules/1", nil).object(s.t)["disabledAt"]; at != nil {
		s.t.Errorf("the schedule was disabled at %v", at)
	}
	if list := s.call("GET", "/api/tokens", nil).object(s.t)["tokens"].([]any); len(list) != 0 {
		s.t.Errorf("%d tokens were made", len(list))
	}
}

// TestC2_Browser checks the same with a real browser and a page from another port, and that a page whose name resolves
// to the server (DNS rebinding) cannot read anything.
func TestC2_Browser(t *testing.T) {
	t.Parallel()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
		}
	}
	if browser == "" {
		required(t, "browser", "apt-get install chromium")
	}
	s := serve(t)
	s.push(daily)
	s.succeeded(s.start("main", "2024-01-01T00:00:00Z"))
	done := make(chan string, 2)
	page := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done" {
			done <- r.URL.Query().Get("what")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form id=f method=post enctype="text/plain" action="http://%[1]s/api/schedules/1/disable" target=i></form><iframe name=i></iframe><script>%[2]s
attack("http://%[1]s").then(async n => {
  document.getElementById("f").submit();
  const read = await fetch("http://evil.example:%[3]s/api/projects").then(r => r.text()).catch(e => "");
  setTimeout(() => fetch("/done?what=" + (read.includes('"projects"') ? "read" : n)), 500);
})</script>`, s.Addr, attackPage, s.port())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	evil := &http.Server{Handler: http.HandlerFunc(page), ReadHeaderTimeout: time.Minute}
	go evil.Serve(l) // until the end of the test
	defer evil.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP evil.example 127.0.0.1, EXCLUDE 127.0.0.1", "--remote-debugging-port=0", "http://"+l.Addr().String()+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	select {
	case what := <-done:
		if what != "70" {
			t.Errorf("the page says %q", what)
		}
	case <-ctx.Done():
		t.Fatal("the page did not run")
	}
	s.untouched()
}
