package stack_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"zerodag/integration/localstack"
	"zerodag/integration/server"
)

// deploy runs integration/localstack/deploy.sh and returns how the stack is reached.
func deploy(t *testing.T, environment string, arguments ...string) pusher {
	t.Helper()
	c := exec.CommandContext(t.Context(), "../localstack/deploy.sh", arguments...)
	c.Env, c.Stderr = append(os.Environ(), environment), t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`ZERODAG_SERVER=(\S+) ZERODAG_TOKEN=(\S+)`).FindSubmatch(out)
	if found == nil {
		return pusher{}
	}
	return pusher{t, string(found[1]), string(found[2]), "kept", server.Build(t)}
}

// TestImport proves that what a stack kept when it was removed belongs to the next one:
// projects and tokens are there, an upload finds its function, a workflow runs. It deploys
// twice, so it has to be asked for: ZERODAG_IMPORT=1.
func TestImport(t *testing.T) {
	if os.Getenv("ZERODAG_IMPORT") == "" {
		t.Skip("SKIPPED: it takes minutes: set ZERODAG_IMPORT=1")
	}
	localstack.Config(t)
	stage := "import-" + strings.ToLower(rand.Text()[:8]) // what an earlier run kept is not in the way
	first := deploy(t, "DESTROY=", stage)
	if code, out := first.run(first.folder(10), "push", first.project, "-r", "one"); code != 0 {
		t.Fatal(out)
	}
	deploy(t, "DESTROY=1", stage)
	second := deploy(t, "DESTROY=", stage)
	second.token = first.token
	second.runs()
	if code, out := second.run(second.folder(10), "push", second.project, "-r", "two"); code != 0 {
		t.Error(out)
	}
	second.runs()
	deploy(t, "DESTROY=1", stage)
}
