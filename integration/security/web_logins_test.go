package security

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestL2_Guesses checks that passwords cannot be tried by the thousand, whether or not the user exists, that the log
// and the audit log report this in few lines, and that neither callers with the right token nor other users have to
// wait.
func TestL2_Guesses(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.authenticator.basic.username=ops", "-X", "server.authenticator.basic.password=right")
	login := func(user, password string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), "Content-Type", "application/json"}
	}
	token := fmt.Sprint("Bearer ", s.call("POST", "/api/tokens", []byte(`{"name":"x","role":"admin"}`), login("ops", "right")...).object(t)["token"])
	for _, user := range []string{"ops", "nobody"} {
		looked, waits := 0, 0
		for i := range 500 {
			switch a := s.call("GET", "/api/projects", nil, login(user, fmt.Sprint("wrong", i))...); a.Status {
			case 401:
				looked++
			case 429:
				waits++
				if a.Header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After: %s", a.Body)
				}
			default:
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		if looked > 20 || waits < 400 {
			t.Errorf("%s: %d of 500 passwords were looked at, %d were not", user, looked, waits)
		}
	}
	within(t, time.Minute, "a wait of some seconds", func() bool { // on a busy machine, the last wait may have ended
		seconds, _ := strconv.Atoi(s.call("GET", "/api/projects", nil, login("ops", "wrong again")...).Header.Get("Retry-After"))
		return seconds > 3
	})
	if a := s.call("GET", "/api/projects", nil, login("ops", "right")...); a.Status != 429 {
		t.Errorf("the right password within the wait: %d: it could be guessed then", a.Status)
	}
	for range 50 {
		s.call("GET", "/api/projects", nil, "Authorization", "Bearer zdt_wrong")
	}
	if a := s.call("GET", "/api/projects", nil, "Authorization", token); a.Status != 200 {
		t.Errorf("the right token: %d %s", a.Status, a.Body)
	}
	if n := strings.Count(s.log(), "login failed"); n < 2 || n > 25 {
		t.Errorf("%d lines in the log", n)
	}
	if strings.Contains(s.log(), "wrong1") || strings.Contains(s.log(), "nobody") {
		t.Error("the log holds what was tried")
	}
	if audits := s.call("GET", "/api/audit", nil, "Authorization", token).Body; !strings.Contains(audits, `"action":"log in"`) || !strings.Contains(audits, "127.0.0.1") {
		t.Errorf("audit log: %s", audits)
	}
}

// TestL3_RevokedStream checks that a stream with a revoked token gets no more data within seconds.
func TestL3_RevokedStream(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.authenticator.type=token")
	first, err := os.ReadFile(s.data("admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	owner := []string{"Authorization", "Bearer " + strings.TrimSpace(string(first)), "Content-Type", "application/json"}
	s.push(map[string]string{"main.dig": "+a:\n  sh>: for i in $(seq 600); do echo line $i; sleep 0.1; done\n"}, owner[:2]...)
	attempt := s.start("main", "2024-01-01T00:00:00Z", owner[:2]...)
	made := s.call("POST", "/api/tokens", []byte(`{"name":"x","role":"viewer"}`), owner...).object(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr+"/api/attempts/"+attempt+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", fmt.Sprint("Bearer ", made["token"]))
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.Contains(lines.Text(), "line ") {
		continue // until the log arrives
	}
	if a := s.call("DELETE", fmt.Sprint("/api/tokens/", made["id"]), nil, owner...); a.Status != 200 {
		t.Fatalf("revoke: %d %s", a.Status, a.Body)
	}
	began := time.Now()
	for lines.Scan() {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the stream goes on")
		}
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the stream ended after %v", took)
	}
}

// TestL5_Headers checks the headers for browsers in every response.
func TestL5_Headers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.push(daily)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/projects", ""}, {"GET", "/api/nosuch", ""}, {"GET", "/", ""}, {"POST", "/api/tokens", `{"name":"x","role":"viewer"}`}, {"GET", "/api/tokens", ""},
		{"GET", "/api/projects/1/archive", ""}, {"GET", "/api/health", ""}, {"GET", "/api/openapi.yaml", ""}, {"OPTIONS", "/api/projects", ""}, {"POST", "/api/projects", ""},
	} {
		h := s.call(c.method, c.path, []byte(c.body), "Content-Type", "application/json").Header
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"} {
			if api := name != "Cache-Control" && name != "Content-Security-Policy" || strings.HasPrefix(c.path, "/api"); api && h.Get(name) != want {
				t.Errorf("%s %s: %s: %q, want %q", c.method, c.path, name, h.Get(name), want)
			}
		}
	}
}

// TestM5_Skip checks that a skip over a billion sessions is refused at once, and that a skip over many sessions ends.
func TestM5_Skip(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.push(map[string]string{"daily.dig": "schedule:\n  cron>: '0 0 29 2 *'\n+a:\n  echo>: s\n"})
	for count, status := range map[int]int{1_000_000_000: 400, 10_001: 400, 10_000: 200, 10: 200, -1: 409} {
		began := time.Now()
		a := s.call("POST", "/api/schedules/1/skip", fmt.Appendf(nil, `{"count":%d,"fromTime":"2026-01-01T00:00:00Z","dryRun":true}`, count), "Content-Type", "application/json")
		if a.Status != status && !(count < 0 && a.Status == 200) || time.Since(began) > 30*time.Second {
			t.Errorf("count %d: %d %s after %v, want %d", count, a.Status, a.Body, time.Since(began), status)
		}
	}
}
