package serverrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"zerodag/internal/evaluators"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/logstream"
	"zerodag/internal/projectfolder"
	"zerodag/internal/serverconfig"
	"zerodag/internal/systemd"
)

func TestMain(m *testing.M) {
	evaluator.Serve()
	os.Exit(m.Run())
}

// running starts a server with data in memory and the given configuration, and returns its address and a function that
// ends it.
func running(t *testing.T, project, config string) (address string, end func() (log string, err error)) {
	t.Helper()
	return runningIn(t, nil, project, config)
}

// runningIn is like running, as part of a systemd unit.
func runningIn(t *testing.T, unit *systemd.Unit, project, config string) (address string, end func() (log string, err error)) {
	t.Helper()
	folder := t.TempDir()
	info, file := filepath.Join(folder, "info"), filepath.Join(folder, "config")
	if err := os.WriteFile(file, []byte("server.runtime-info.path = "+info+"\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, flags := serverconfig.CommandLine{Version: "1.2.3", Project: project}, pflag.NewFlagSet("server", pflag.ContinueOnError)
	c.Register(flags, "", "")
	if err := flags.Parse([]string{"-c", file, "--port", "0", "--memory"}); err != nil {
		t.Fatal(err)
	}
	r, err := c.Read(flags)
	if err != nil {
		t.Fatal(err)
	}
	pool := evaluators.New("")
	t.Cleanup(pool.Close)
	o, err := c.Options(r, pool)
	if err != nil {
		t.Fatal(err)
	}
	var local *Project
	if project != "" {
		f, err := projectfolder.Open(project)
		if err != nil {
			t.Fatal(err)
		}
		local = NewProject(f)
	}
	var out strings.Builder
	level, _ := logstream.LevelOf("info")
	logger, flush := NewLog(&out, level, serverconfig.TextLog)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o, local, unit, logger) }()
	end = func() (string, error) {
		stop()
		err := <-ended
		flush()
		return out.String(), err
	}
	for {
		text, err := os.ReadFile(info)
		var places struct {
			Local []struct {
				Host string
				Port int
			} `json:"local_addresses"`
			Admin []any `json:"local_admin_addresses"`
		}
		if err == nil {
			if err := json.Unmarshal(text, &places); err != nil || len(places.Local) != 1 || places.Admin == nil {
				t.Fatalf("%s: %v", text, err)
			}
			return "http://" + net.JoinHostPort(places.Local[0].Host, strconv.Itoa(places.Local[0].Port)), end
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// within waits until something is done, and fails with its last state.
func within(t *testing.T, done func() (bool, string)) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ok, state := done()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal(state)
		}
	}
}

// start starts an attempt of a workflow.
func start(t *testing.T, address, workflow string) {
	t.Helper()
	body := `{"workflowId":` + workflow + `,"sessionTime":"2024-01-01T00:00:00Z","params":{}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address+"/api/attempts", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("start: %d %s, %v", answer.StatusCode, text, err)
	}
}

// TestRun proves that a server answers until its context ends, that if tokens are required, it requires the first
// token, which is in its log, and that its log records its end.
func TestRun(t *testing.T) {
	t.Parallel()
	address, end := running(t, "", "my.key = 1\nserver.authenticator.type = token\nserver.http.headers.X-A = b\n")
	if code, body := get(t, address+"/api/version", ""); code != http.StatusOK || !strings.Contains(body, "1.2.3") {
		t.Errorf("version: %d %s", code, body)
	}
	if code, body := get(t, address+"/api/projects", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", code, body)
	}
	log, err := end()
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"unused configuration keys are ignored: my.key", "The first token is ", "Listening on " + address, "Shutdown completed"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if _, err := http.Get(address + "/api/version"); err == nil { //nolint:noctx // it fails at once
		t.Error("it still answers")
	}
}

// TestRunOfAProject proves that the server for a folder updates its workflows each time it reads the folder, under one
// project name, and that its tasks have their scripts in the run folder.
func TestRunOfAProject(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.dig"), []byte("+a: {sh>: echo $0 >ran}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, end := running(t, folder, "")
	id := ""
	within(t, func() (bool, string) {
		code, body := get(t, address+"/api/workflows", "")
		there := code == http.StatusOK && strings.Contains(body, `"name":"main"`) && strings.Contains(body, `"name":"default"`)
		if there {
			id = regexp.MustCompile(`"id":"(\d+)"`).FindStringSubmatch(body)[1]
		}
		return there, fmt.Sprintf("the workflow does not appear: %d %s", code, body)
	})
	start(t, address, id)
	within(t, func() (bool, string) {
		text, err := os.ReadFile(filepath.Join(folder, "ran"))
		return strings.HasPrefix(string(text), ".zerodag/tmp/zerodag-sh-"), fmt.Sprintf("the task ran as %q, %v", text, err)
	})
	if log, err := end(); err != nil || !strings.Contains(log, "Added new revision 1") {
		t.Errorf("%v\n%s", err, log)
	}
}

// TestListenFails proves that a server whose port is in use ends with an error that names a remedy.
func TestListenFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c, flags := serverconfig.CommandLine{}, pflag.NewFlagSet("server", pflag.ContinueOnError)
	c.Register(flags, "", "")
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	if err := flags.Parse([]string{"-c", os.DevNull, "--memory", "--port", port}); err != nil {
		t.Fatal(err)
	}
	r, err := c.Read(flags)
	if err != nil {
		t.Fatal(err)
	}
	pool := evaluators.New("")
	defer pool.Close()
	o, err := c.Options(r, pool)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), o, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another server may be running") {
		t.Errorf("%v", err)
	}
}

// TestPageAddress checks which page address is shown to local users.
func TestPageAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"127.0.0.1:1": "http://127.0.0.1:1/", "0.0.0.0:80": "http://localhost:80/", "[::]:80": "http://localhost:80/", "[::1]:80": "http://[::1]:80/", "192.0.2.1:80": "http://192.0.2.1:80/"} {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := pageAddress("http", a); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestStalledRequest proves that a stalled request is ended and a slow one is not.
func TestStalledRequest(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	server := httptest.NewServer(unstalled(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	}), 300*time.Millisecond))
	defer server.Close()
	for name, pause := range map[string]time.Duration{"slow": 100 * time.Millisecond, "stalled": time.Hour} {
		body, to := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for range 6 {
				if _, err := to.Write([]byte("x")); err != nil {
					return
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
			to.Close()
		}()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		if got := <-read; errors.Is(got, os.ErrDeadlineExceeded) != (name == "stalled") || (got == nil) != (name == "slow") {
			t.Errorf("%s: %v", name, got)
		}
		stop()
	}
}

// TestAllowOrigins proves that pages from other origins may call the API and read its responses.
func TestAllowOrigins(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	allowOrigins(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodOptions, "/api/projects", nil))
	if w.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") || w.Code != http.StatusNotFound {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestLogAsJSON proves that each line is an object, that durations are seconds, and that lines below the level are
// omitted.
func TestLogAsJSON(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{"error": {"three"}, "warn": {"two", "three"}, "trace": {"one", "two", "three"}} {
		var out strings.Builder
		level, _ := logstream.LevelOf(name)
		logger, flush := NewLog(&out, level, serverconfig.JSONLog)
		logger.Debug("one")
		logger.With("project", "p\n").Warn("two", "took", 1500*time.Millisecond)
		logger.Error("three")
		if err := flush(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var entry map[string]any
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got = append(got, entry["msg"].(string))
			if entry["msg"] == "two" && (entry["took"] != 1.5 || entry["project"] != "p\n") {
				t.Errorf("%v", entry)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
