package stack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"zerodag/integration/stack"
)

// commandLine is the command line with a separate folder and configuration, and a stack.
type commandLine struct {
	t               *testing.T
	program, folder string
	stack           *stack.Stack
	token           string // "" for none
}

// built returns the path of the program, which is built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	program, err := filepath.Abs("../../bin/test/zerodag")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

func newCommandLine(t *testing.T, deployed *stack.Stack, token string) commandLine {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return commandLine{t, program, t.TempDir(), deployed, token}
}

// write puts a file into the folder.
func (c commandLine) write(name, text string) {
	c.t.Helper()
	name = filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// command makes a command that calls the stack. It keeps the environment's AWS settings and shows logs as they are
// stored.
func (c commandLine) command(args ...string) *exec.Cmd {
	if args[0] == "log" {
		args = append(args, "--output", "digdag")
	}
	cmd := exec.CommandContext(c.t.Context(), c.program, append(args, "-e", c.stack.URL)...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "ZERODAG_CONFIG=", "DIGDAG_CONFIG=", "ZERODAG_CONFIG_HOME="+c.folder, "ZERODAG_IAM=", "ZERODAG_TOKEN="+c.token, "http_proxy=", "https_proxy=")
	return cmd
}

// run runs a command and returns what it printed.
func (c commandLine) run(args ...string) (out, errors string, err error) {
	c.t.Helper()
	cmd := c.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// must runs a command that has to succeed.
func (c commandLine) must(args ...string) string {
	c.t.Helper()
	out, errors, err := c.run(args...)
	if err != nil {
		c.t.Fatalf("zerodag %s: %v\n%s%s", strings.Join(args, " "), err, out, errors)
	}
	return out
}

// object runs a command that prints a JSON object.
func (c commandLine) object(args ...string) map[string]any {
	c.t.Helper()
	var v map[string]any
	if out := c.must(append(args, "--output", "json")...); json.Unmarshal([]byte(out), &v) != nil {
		c.t.Fatalf("zerodag %s printed no object: %s", strings.Join(args, " "), out)
	}
	return v
}

// start starts a workflow of a project and returns the id of its attempt.
func (c commandLine) start(project, workflow string) string {
	c.t.Helper()
	return c.object("start", project, workflow, "--session", "2024-03-01")["id"].(string)
}

// near skips a test whose workflow calls a local server, unless the stack can reach it.
func near(t *testing.T, deployed *stack.Stack) {
	t.Helper()
	if deployed.Far() {
		t.Skip("NOT RUN: its workflow calls this machine, which the functions of an account cannot reach")
	}
}

// get calls the API with a token.
func get(t *testing.T, deployed *stack.Stack, token, path string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, deployed.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}
