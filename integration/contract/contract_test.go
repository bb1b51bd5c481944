package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"zerodag/docs"
	"zerodag/integration/server"
)

// program is the program that serves the API.
var program string

func TestMain(m *testing.M) {
	os.Exit(server.Main(m, &program))
}

// project has a workflow of each outcome: one that succeeds and has a schedule, one that fails, and one that still runs
// and holds a slot.
func project() []byte {
	return server.Pack(map[string]string{
		"works.dig": "zerodag: 1\ndescription: it succeeds\ntags: [daily, {team: sales}]\nschedule:\n  daily>: 07:00:00\n+a:\n  echo>: hello\n+b:\n  echo>: world\n",
		"fails.dig": "+a:\n  fail>: no\n",
		"waits.dig": "zerodag: 1\n+a:\n  wait>: 24h\n  _pool: db\n",
	})
}

// api is a server with the token of its caller; "" if it requires no login.
type api struct {
	*server.Server
	t     *testing.T
	token string
}

// send sends JSON, or an archive, and reads the response.
func (a api) send(method, path string, body []byte, into any) {
	a.t.Helper()
	kind := "application/json"
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		kind = "application/gzip"
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.URL()+path, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		a.t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// fill stores an object of each kind.
func (a api) fill() {
	a.t.Helper()
	a.send(http.MethodPut, "/api/pools/db", []byte(`{"slots":1}`), nil)
	a.send(http.MethodPut, "/api/projects?project=demo&revision=one", project(), nil)
	a.send(http.MethodPut, "/api/projects/1/secrets/key", []byte(`{"value":"v"}`), nil)
	a.send(http.MethodPost, "/api/tokens", []byte(`{"name":"reader","role":"viewer"}`), nil)
	var list struct {
		Workflows []struct{ ID, Name string }
	}
	a.send(http.MethodGet, "/api/projects/1/workflows", nil, &list)
	if len(list.Workflows) != 3 {
		a.t.Fatalf("workflows: %v", list.Workflows)
	}
	for _, w := range list.Workflows {
		for _, day := range []string{"01", "02"} {
			a.send(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":"2026-01-%sT00:00:00Z","params":{},"labels":{"team":"sales"}}`, w.ID, day), nil)
		}
		if w.Name == "works" {
			a.send(http.MethodPost, "/api/backfills", fmt.Appendf(nil, `{"workflowId":%q,"from":"2025-02-01","to":"2025-02-03","name":"february"}`, w.ID), nil)
		}
	}
}

// operations counts the operations that docs/openapi.yaml describes.
func operations(t *testing.T) (n int) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range doc.Paths.Map() {
		n += len(item.Operations())
	}
	return n
}

// judge runs schemathesis on the server, which must send at least the given number of requests for each operation and
// find nothing. A failure is printed with a curl command that repeats it.
func (a api) judge(least int, options ...string) {
	a.t.Helper()
	schemathesis, err := exec.LookPath("schemathesis")
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "schemathesis") {
			a.t.Fatal("schemathesis is not on this machine, and REQUIRE names it: run make test-contract")
		}
		a.t.Skip("NOT RUN: schemathesis is not on this machine: make test-contract installs it")
	}
	folder := a.t.TempDir() // it writes files to its folder
	for name, text := range map[string][]byte{"openapi.yaml": docs.OpenAPI, "schemathesis.toml": read(a.t, "schemathesis.toml"), "hooks.py": read(a.t, "hooks.py")} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	seed := cmp.Or(os.Getenv("ZERODAG_SEED"), "1")
	arguments := append([]string{"run", "openapi.yaml", "--url", a.URL(), "--seed", seed}, options...)
	if a.token != "" {
		arguments = append(arguments, "--header", "Authorization:Bearer "+a.token)
	}
	c := exec.CommandContext(a.t.Context(), schemathesis, arguments...)
	c.Dir = folder
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := c.CombinedOutput()
	a.t.Logf("seed %s (ZERODAG_SEED chooses it): %s", seed, summary(out))
	if err != nil {
		a.t.Errorf("schemathesis: %v\n%s", err, findings(out))
	}
	made := regexp.MustCompile(`(\d+) generated`).FindSubmatch(out)
	if made == nil {
		a.t.Fatalf("schemathesis shows no number of requests:\n%s", out)
	}
	if n, err := strconv.Atoi(string(made[1])); err != nil || n < least*operations(a.t) {
		a.t.Errorf("%s requests (%v), want at least %d for each of %d operations", made[1], err, least, operations(a.t))
	}
	if log := a.Log(); strings.Contains(log, "panicked") {
		a.t.Errorf("a request panicked:\n%s", log)
	}
	var health struct{ Status string }
	if a.send(http.MethodGet, "/api/health", nil, &health); health.Status != "ok" {
		a.t.Errorf("health: %s", health.Status)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// summary is the last line of the output.
func summary(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// findings is the output starting with the first error or failure.
func findings(out []byte) []byte {
	first := len(out)
	for _, heading := range []string{"= ERRORS =", "= FAILURES ="} {
		if i := bytes.Index(out, []byte(heading)); i >= 0 {
			first = min(first, i)
		}
	}
	if first == len(out) {
		return out
	}
	return out[first:]
}

// TestDocument proves that the responses to an owner are those that docs/openapi.yaml describes, whether requests are
// valid or not, alone or one after another. ZERODAG_EXAMPLES is how many random requests each operation gets.
func TestDocument(t *testing.T) {
	t.Parallel()
	a := api{Server: server.New(t, program), t: t}
	a.Start()
	a.fill()
	a.judge(20, "--max-examples", cmp.Or(os.Getenv("ZERODAG_EXAMPLES"), "5"))
}

// TestDocumentOfViewer proves the same for a caller who may only read: most of their requests are refused.
func TestDocumentOfViewer(t *testing.T) {
	t.Parallel()
	a := api{Server: server.New(t, program, "-X", "server.authenticator.type=token"), t: t}
	a.Start()
	a.token = strings.TrimSpace(string(read(t, filepath.Join(a.Data(), "admin.token"))))
	a.fill()
	var viewer struct{ Token string }
	a.send(http.MethodPost, "/api/tokens", []byte(`{"name":"viewer","role":"viewer"}`), &viewer)
	a.token = viewer.Token
	a.judge(2, "--phases", "fuzzing", "--max-examples", "3")
}
