//go:build linux

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hooked returns hooks whose runner is a script, and a function that calls a hook.
func hooked(t *testing.T, script string) (*hooks, func(name, body string) (int, string)) {
	program := filepath.Join(t.TempDir(), "runner")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755); err != nil { // #nosec G306 -- it is a program
		t.Fatal(err)
	}
	h := &hooks{program: program, wait: 10 * time.Second, local: func(net.Addr) bool { return false }}
	t.Cleanup(h.end)
	handler := h.handler()
	return h, func(name, body string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, hooksPath+name, strings.NewReader(body)))
		return w.Code, strings.TrimSpace(w.Body.String())
	}
}

// began waits until a script has written a file.
func began(t *testing.T, file string) string {
	t.Helper()
	for t.Context().Err() == nil {
		if text, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(text), "\n") {
			return string(text)
		}
		time.Sleep(time.Millisecond) // there is no other sign of a process
	}
	t.Fatal("it does not begin")
	return ""
}

const given1 = `{"zerodag":{"url":"https://api","ticket":"t1.x","slots":4}}`

// TestHookRun checks that a machine starts its runner once, for each form in which Lambda may pass the payload, and
// that it passes the name of the machine on to the runner.
func TestHookRun(t *testing.T) {
	t.Parallel()
	quoted := strings.ReplaceAll(given1, `"`, `\"`)
	for name, body := range map[string]string{
		"as a text":   `{"microvmId":"microvm-7","runHookPayload":"` + quoted + `"}`,
		"as a tree":   `{"microvmId":"microvm-7","runHookPayload":` + given1 + `}`,
		"put into it": `{"microvmId":"microvm-7",` + given1[1:],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "env")
			_, call := hooked(t, `echo "$1 $ZERODAG_URL $ZERODAG_TICKET $ZERODAG_SLOTS $ZERODAG_MACHINE" >>`+file+"\nexec sleep 60")
			for range 2 {
				if code, text := call("run", body); code != http.StatusOK {
					t.Errorf("%d %s", code, text)
				}
			}
			if got := began(t, file); got != "run https://api t1.x 4 microvm-7\n" {
				t.Errorf("it was started with %q", got)
			}
			if code, text := call("run", strings.ReplaceAll(body, "t1.x", "t1.y")); code != http.StatusConflict {
				t.Errorf("with something else: %d %s", code, text)
			}
		})
	}
}

// TestHookRefuses checks that a machine does not start with a payload that cannot be read, and that a trial of the
// image, which has no payload, starts nothing.
func TestHookRefuses(t *testing.T) {
	t.Parallel()
	h, call := hooked(t, "exit 1")
	for body, want := range map[string]int{
		"": http.StatusOK, `{"microvmId":"m"}`: http.StatusOK, `{"microvmId":"m","runHookPayload":""}`: http.StatusOK,
		"{": http.StatusBadRequest, `{"runHookPayload":"x"}`: http.StatusBadRequest, `{"runHookPayload":"{}"}`: http.StatusBadRequest,
		`{"zerodag":{"url":"u","slots":1}}`: http.StatusBadRequest, `{"zerodag":{"url":"u","ticket":"t"}}`: http.StatusBadRequest,
		`{"x":"` + strings.Repeat("x", mostStart) + `"}`: http.StatusBadRequest,
	} {
		if code, text := call("run", body); code != want {
			t.Errorf("%.60s: %d %s, want %d", body, code, text, want)
		}
	}
	if h.child != nil {
		t.Error("something was started")
	}
	if code, text := call("ready", "{}"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, text)
	}
	if code, text := call("validate", "{}"); code != http.StatusOK {
		t.Errorf("validate: %d %s", code, text)
	}
	if code, _ := call("suspend", "{}"); code != http.StatusNotFound {
		t.Errorf("a hook that is off: %d", code)
	}
}

// TestHookTerminate checks that when a machine ends, its runner ends first, and that a command on the machine itself
// cannot request this.
func TestHookTerminate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, call := hooked(t, "trap 'echo over >"+dir+"/over; exit 0' TERM\necho begun >"+dir+"/begun\nwhile :; do sleep 0.01; done")
	if code, text := call("terminate", ""); code != http.StatusOK { // before anything runs
		t.Errorf("%d %s", code, text)
	}
	call("run", given1)
	began(t, dir+"/begun")
	h.local = isLocal
	handler := h.handler()
	for _, from := range append([]string{"127.0.0.1:5", "[::1]:5", "nonsense"}, addresses(t)...) {
		r := httptest.NewRequest(http.MethodPost, hooksPath+"terminate", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if _, err := os.Stat(dir + "/over"); err == nil || w.Code != http.StatusOK {
			t.Errorf("from %s: %d, over: %v", from, w.Code, err)
		}
	}
	if code, text := call("terminate", ""); code != http.StatusOK { // httptest's callers have the address 192.0.2.1
		t.Errorf("%d %s", code, text)
	}
	select {
	case <-h.over:
	default:
		t.Error("the hook has returned before its runner")
	}
	if _, err := os.Stat(dir + "/over"); err != nil {
		t.Error(err)
	}
}

// addresses returns the addresses of this machine.
func addresses(t *testing.T) (list []string) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if n, is := a.(*net.IPNet); is {
			list = append(list, net.JoinHostPort(n.IP.String(), "5"))
		}
	}
	return list
}

// TestHookWaitsNoLonger checks that a runner that does not end delays the end of its machine by the time that Lambda
// allows, and no longer.
func TestHookWaitsNoLonger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, call := hooked(t, "trap '' TERM\necho begun >"+dir+"/begun\nwhile :; do sleep 0.01; done")
	h.wait = time.Millisecond
	call("run", given1)
	began(t, dir+"/begun")
	if code, text := call("terminate", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	h.child.Kill()
	<-h.over
}
