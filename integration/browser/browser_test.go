package browser

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/integration/server"
	"zerodag/ui"
)

// needed skips a test if its requirements are missing, or fails if REQUIRE names browser.
func needed(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	missing := ""
	chromium := []string{"/usr/bin/chromium-headless-shell", "/usr/bin/chromium"} // as in ui/playwright.config.ts
	if named := os.Getenv("CHROMIUM"); named != "" {
		chromium = []string{named}
	}
	browser := slices.ContainsFunc(chromium, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	_, modules := os.Stat(filepath.FromSlash("../../ui/node_modules/.bin/playwright"))
	switch {
	case !browser:
		missing = "there is no /usr/bin/chromium (CHROMIUM names another one)"
	case modules != nil || !ui.Built():
		missing = "the web console is not built"
	default:
		return
	}
	if strings.Contains(os.Getenv("REQUIRE"), "browser") {
		t.Fatalf("%s: run `make tools ui`", missing)
	}
	t.Skipf("NOT RUN: %s: run `make tools ui`", missing)
}

// run runs a script of ui/package.json and shows its output if it fails.
func run(t *testing.T, script string, variables ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "npm", "run", "--silent", script)
	c.Dir = filepath.FromSlash("../../ui")
	c.Env = append(os.Environ(), variables...)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("npm run %s: %v", script, err)
	}
}

// TestConsole checks in a browser that the page shows what the program did, lets users act on it, and adheres to its
// content security policy. If ZERODAG_PICTURES names a folder, its screenshots are kept there.
func TestConsole(t *testing.T) {
	t.Parallel()
	needed(t)
	pictures := cmp.Or(os.Getenv("ZERODAG_PICTURES"), t.TempDir())
	run(t, "browser", "ZERODAG_PROGRAM="+server.Build(t), "ZERODAG_PICTURES="+pictures, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1")
}

// TestParts checks the parts of the page that need no browser: how tasks are folded, axes are cut and logs are
// searched, and that colors can be distinguished.
func TestParts(t *testing.T) {
	t.Parallel()
	needed(t)
	run(t, "test")
}

// TestSize checks that no page fetches more than its limit.
func TestSize(t *testing.T) {
	t.Parallel()
	needed(t)
	run(t, "size")
}
