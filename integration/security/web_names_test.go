package security

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// evilNames holds names that would have an effect where they are shown.
var evilNames = []string{"a\x00b", "a\rb", "a\nb", "a\tb", "ev\x1b[31mil", "a\x7fb", "\u009b31m", "a\u202eb", "a\u2028b", "\xff\xfe", strings.Repeat("x", 256)}

// TestL1_Names checks that nothing can get a name that ends lines, moves cursors or leaves a folder, and that the
// response names the violated rule.
func TestL1_Names(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.push(daily)
	json := []string{"Content-Type", "application/json"}
	refused := func(what, name string, a answer) {
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "must") {
			t.Errorf("%s %q: %d %s", what, name, a.Status, a.Body)
		}
		if strings.ContainsAny(a.Body, "\x1b\r\x00\u009b\u202e") {
			t.Errorf("%s %q: the answer holds it: %q", what, name, a.Body)
		}
	}
	for _, name := range evilNames {
		q := url.QueryEscape(name)
		refused("project", name, s.call(http.MethodPut, "/api/projects?revision=r&project="+q, archive(daily), "Content-Type", "application/gzip"))
		refused("revision", name, s.call(http.MethodPut, "/api/projects?project=x&revision="+q, archive(daily), "Content-Type", "application/gzip"))
		text := quoted(name)
		if name == "\xff\xfe" {
			continue // JSON cannot express it
		}
		refused("token", name, s.call(http.MethodPost, "/api/tokens", []byte(`{"role":"viewer","name":`+text+`}`), json...))
		refused("retry", name, s.call(http.MethodPut, "/api/attempts", []byte(`{"workflowId":"1","sessionTime":"2024-01-01T00:00:00Z","params":{},"retryAttemptName":`+text+`}`), json...))
		refused("backfill", name, s.call(http.MethodPost, "/api/schedules/1/backfill", []byte(`{"fromTime":"2024-01-01T00:00:00Z","count":1,"dryRun":true,"attemptName":`+text+`}`), json...))
	}
	for _, name := range []string{".", "..", "../x", "/etc", "a/b"} {
		refused("project", name, s.call(http.MethodPut, "/api/projects?revision=r&project="+url.QueryEscape(name), archive(daily), "Content-Type", "application/gzip"))
	}
	for _, name := range []string{" ", "...", "ä 🐧", "a.b-c_d:e", "日本"} { // still allowed
		if a := s.call(http.MethodPut, "/api/projects?revision=r&project="+url.QueryEscape(name), archive(daily), "Content-Type", "application/gzip"); a.Status != http.StatusOK {
			t.Errorf("project %q: %d %s", name, a.Status, a.Body)
		}
	}
}

// quoted returns a string as a JSON string, with every character escaped that needs to be.
func quoted(name string) string {
	var b strings.Builder
	for _, c := range name {
		const hex = "0123456789abcdef"
		b.WriteString(`\u` + string([]byte{hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15]}))
	}
	return `"` + b.String() + `"`
}

// evilServer starts a server that answers as one that accepts every name would.
func evilServer(t *testing.T, name string) string {
	t.Helper()
	project := `{"id":"1","name":` + quoted(name) + `,"revision":` + quoted("r\x1b]0;title\a") + `,"createdAt":"2024-01-01T00:00:00Z","updatedAt":"2024-01-01T00:00:00Z","deletedAt":null,"archiveType":"db","archiveMd5":null}`
	return answers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/version/check":
			_, _ = w.Write([]byte(`{"serverVersion":"1","upgradeRecommended":false,"apiCompatible":true}`))
		case strings.HasSuffix(r.URL.Path, "/archive"):
			_, _ = w.Write(archive(map[string]string{"pwned": "x"}))
		case r.URL.Path == "/api/project":
			_, _ = w.Write([]byte(project))
		default:
			_, _ = w.Write([]byte(`{"projects":[` + project + `]}`))
		}
	})
}

// TestL1_Terminal checks that control sequences in names do not reach a terminal, and that a pipe gets names unchanged.
func TestL1_Terminal(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		required(t, "script", "it is not installed (bsdutils)")
	}
	const name = "ev\x1b[2Jil\x1b]52;c;eA==\a\u009b2J"
	endpoint := evilServer(t, name)
	run := func(program string, args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "ZERODAG_CONFIG_HOME="+t.TempDir(), "TERM=xterm", "NO_COLOR=1") // so that any control sequence comes from a name
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return string(out)
	}
	shown := run(script, "-qec", programPath(t)+" projects -e "+endpoint, os.DevNull)
	if !strings.Contains(shown, "ev^[[2Jil^[]52;c;eA==^G") || strings.ContainsAny(shown, "\x1b\a\u009b") {
		t.Errorf("a terminal gets %q", shown)
	}
	if piped := run(programPath(t), "projects", "-e", endpoint); !strings.Contains(piped, name) {
		t.Errorf("a pipe gets %q", piped)
	}
}

// TestL1_Download checks that a download stays in a folder below the current one, whatever
// the project is called.
func TestL1_Download(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".", "../x", "/tmp/zerodag-never", "a/../..", "", "a\x1bb"} {
		above := t.TempDir()
		here := filepath.Join(above, "a", "b")
		if err := os.MkdirAll(here, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(programPath(t), "download", "-e", evilServer(t, name), "--", name)
		cmd.Dir, cmd.Env = here, append(os.Environ(), "ZERODAG_CONFIG_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%q is downloaded: %s", name, out)
		}
		for _, folder := range []string{above, filepath.Dir(here), here} {
			if _, err := os.Lstat(filepath.Join(folder, "pwned")); err == nil {
				t.Errorf("%q: files in %s", name, folder)
			}
		}
	}
	here := t.TempDir()
	cmd := exec.Command(programPath(t), "download", "-e", evilServer(t, "good one"), "good one")
	cmd.Dir, cmd.Env = here, append(os.Environ(), "ZERODAG_CONFIG_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if _, err := os.Lstat(filepath.Join(here, "good one", "pwned")); err != nil {
		t.Error(err)
	}
}

// TestL1_Logs checks that callers cannot forge lines of the server's logs.
func TestL1_Logs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := serve(t, "-A", folder, "-X", "server.authenticator.type=token")
	const fake = "%0d%0a2026-01-01%20FAKE%20%1b[31m%c2%9bLINE"
	s.call(http.MethodGet, "/api/projects/"+fake+"?x="+fake, nil, "User-Agent", "x\u009by", "Authorization", "Bearer a\u009bb")
	s.raw("GET /\u009b31m HTTP/1.1\r\nHost: x\r\n\r\n")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	until(t, "the access log has both", func() bool {
		text, _ := os.ReadFile(files[0])
		return strings.Count(string(text), "\n") == 2
	})
	access, _ := os.ReadFile(files[0])
	for name, text := range map[string]string{"access log": string(access), "log": s.log()} {
		if strings.ContainsAny(text, "\x1b\r\u009b") || strings.Contains(text, "\n2026-01-01") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// answers starts a server of the test and returns its address.
func answers(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}
