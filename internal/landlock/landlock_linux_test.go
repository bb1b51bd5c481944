package landlock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"zerodag/internal/landlock"
)

// tree creates the files for a test and returns their folder: data is hidden, except data/own.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"data/db": "hidden", "data/other/file": "hidden", "data/own/file": "own", "beside/file": "beside", "config": "hidden", "file": "beside"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// script runs a script under the rules and returns its output.
func script(t *testing.T, r landlock.Rules, dir, text string) string {
	t.Helper()
	var out strings.Builder
	c := exec.Command("sh", "-c", text) // #nosec G204 -- the scripts are those of the tests
	c.Dir, c.Stdout, c.Stderr = filepath.Join(dir, "data/own"), &out, &out
	if err := r.Start(c.Dir, c.Start); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		fmt.Fprint(&out, err)
	}
	return out.String()
}

func rules(t *testing.T, dir string) landlock.Rules {
	t.Helper()
	if err := landlock.Supported(); err != nil {
		t.Skip(err)
	}
	r, err := landlock.New(filepath.Join(dir, "data"), filepath.Join(dir, "config"), filepath.Join(dir, "none"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHidden checks what a restricted process can and cannot do with files.
func TestHidden(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	r := rules(t, dir)
	for text, works := range map[string]bool{
		"cat file; echo more > file; mkdir -p a/b && mv file a/b/file && mv a c && rm -r c":                                              true,
		"cat ../../beside/file && echo x > ../../beside/new && rm ../../beside/new":                                                      true,
		"echo x > ../../beside/x && mv ../../beside/x ../../beside/y && cp ../../beside/y . && mv y ../../beside/z && rm ../../beside/z": true,
		"cat ../../file && echo x >> ../../file":                                                                                         true,
		"cat /etc/passwd > /dev/null && ls / ../.. > list && cat /proc/self/status > /dev/null && rm list":                               true,
		"ls .. > list && rm list":         true, // names are not secret
		"cat ../db":                       false,
		"cat ../other/file":               false,
		"cat ../../config":                false,
		"echo x > ../../config":           false,
		"echo x >> ../db":                 false,
		"rm ../db":                        false,
		"mv ../db .":                      false,
		"ln ../db here && cat here":       false,
		"ln -s ../db link; cat link":      false,
		"touch ../new && echo x > ../new": false,
		"echo x > ../../new":              false, // directly next to a hidden path
		fmt.Sprintf("cat /proc/%d/environ", os.Getpid()):                      false,
		fmt.Sprintf("cat /proc/%d/root%s/data/db", os.Getpid(), dir):          false,
		fmt.Sprintf("kill -CONT %d", os.Getpid()):                             false,
		"(cat ../db) & wait $!":                                               false,
		"sh -c 'setsid sh -c \"cat ../db\"' && sleep 0":                       false,
		"unshare -Urm sh -c 'cat ../db' 2>&1 || { echo denied >&2; exit 1; }": false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			dir := dir
			if works { // these change files
				dir = tree(t)
				r, text := rules(t, dir), "set -e; "+text
				if out := script(t, r, dir, text); strings.Contains(out, "exit status") || strings.Contains(out, "denied") {
					t.Errorf("does not work:\n%s", out)
				}
				return
			}
			if out := script(t, r, dir, text); !strings.Contains(out, "exit status") || strings.Contains(out, "hidden") {
				t.Errorf("works:\n%s", out)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "data/db")); err != nil || string(content) != "hidden" {
				t.Errorf("the hidden file has %q, %v", content, err)
			}
		})
	}
}

// TestOnlyWhatIsStarted proves that neither this process nor any of its other threads is restricted, however many
// processes start at once.
func TestOnlyWhatIsStarted(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	r := rules(t, dir)
	var all sync.WaitGroup
	for range 4 * runtime.NumCPU() {
		all.Go(func() {
			for range 10 {
				if out := script(t, r, dir, "cat ../db"); !strings.Contains(out, "exit status") {
					t.Errorf("works:\n%s", out)
				}
				if _, err := os.ReadFile(filepath.Join(dir, "data/db")); err != nil {
					t.Error(err)
				}
				if out, err := exec.Command("cat", filepath.Join(dir, "data/db")).CombinedOutput(); err != nil { // #nosec G204 -- a file of the test
					t.Errorf("an unrestricted process: %v: %s", err, out)
				}
			}
		})
	}
	all.Wait()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err == nil && strings.Contains(string(text), "NoNewPrivs:\t1") {
			t.Logf("thread %s is restricted: it must be about to end", task.Name())
		}
	}
}

// TestBeside proves that folders are found in which new files would be useless to restricted processes.
func TestBeside(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	r, err := landlock.New(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Beside(); got == "" || !strings.HasPrefix(dir, got) {
		t.Errorf("%q, want a folder above %s", got, dir)
	}
	if r, err = landlock.New("/proc/self/status"); err != nil || os.Getuid() != 0 && r.Beside() != "" {
		t.Errorf("beside /proc/self/status: %q, %v", r.Beside(), err)
	}
	if _, err := landlock.New("/"); err == nil {
		t.Error("the root can be hidden")
	}
}

// BenchmarkStart compares starting a restricted process with starting an unrestricted one.
func BenchmarkStart(b *testing.B) {
	if err := landlock.Supported(); err != nil {
		b.Skip(err)
	}
	r, err := landlock.New("/var/lib/dpkg", "/etc/passwd")
	if err != nil {
		b.Fatal(err)
	}
	for name, start := range map[string]func(c *exec.Cmd) error{"restricted": func(c *exec.Cmd) error { return r.Start("/tmp", c.Start) }, "plain": (*exec.Cmd).Start} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := exec.Command("/bin/true")
				if err := errors.Join(start(c), c.Wait()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
