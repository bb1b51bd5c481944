// Command ministack runs the suites of the drivers and operators for AWS against ministack, a second emulator, which
// differs from LocalStack in places where neither is certain to match AWS.
//
//	go run ./integration/ministack
//
// `make test-ministack` calls it. unsupported.txt lists the tests that fail because ministack lacks something, each
// with the reason; all others must pass. A listed test that passes fails the run, so the list shrinks with each release
// of ministack. It must never need LocalStack.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed requirements.lock
var requirements []byte

//go:embed unsupported.txt
var unsupported string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ministack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	excused, err := parse(unsupported)
	if err != nil {
		return err
	}
	python, err := install(ctx)
	if err != nil {
		return err
	}
	endpoint, stop, err := start(ctx, python)
	if err != nil {
		return err
	}
	defer stop()
	results, err := test(ctx, endpoint)
	if err != nil {
		return err
	}
	wrong := compare(results, excused)
	for _, text := range wrong {
		fmt.Fprintln(out, text)
	}
	passed := 0
	for _, r := range results {
		if r.passed {
			passed++
		}
	}
	fmt.Fprintf(out, "ministack: %d tests passed, %d failed as expected, %d did not meet expectations\n", passed, len(excused), len(wrong))
	if len(wrong) > 0 {
		return errors.New("see above")
	}
	return nil
}

// parse reads lines that each give a test, as a package and a name, and the reason why it fails. Only tests without
// subtests are listed: a test whose subtests all have the expected results counts as expected.
func parse(text string) (map[string]string, error) {
	excused := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		switch {
		case !ok || reason == "" || len(strings.Fields(name)) != 2:
			return nil, fmt.Errorf("unsupported.txt: %q is not PACKAGE TEST: REASON", line)
		case excused[name] != "":
			return nil, fmt.Errorf("unsupported.txt: %s is listed twice", name)
		}
		excused[name] = reason
	}
	return excused, nil
}

// install installs ministack once, into a folder for exactly these versions.
func install(ctx context.Context) (python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "zerodag", fmt.Sprintf("ministack-%x", sha256.Sum256(requirements))[:22])
	python = filepath.Join(home, "bin", "python")
	complete := filepath.Join(home, ".complete")
	if _, err := os.Stat(complete); err == nil {
		return python, nil
	}
	lock := filepath.Join(home, "requirements.lock")
	fmt.Fprintln(os.Stderr, "ministack: installing into", home)
	// A concurrent second run installs the same.
	for _, step := range [][]string{{"python3", "-m", "venv", home}, {python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", lock}} {
		if step[0] == python {
			if err := os.WriteFile(lock, requirements, 0o600); err != nil {
				return "", err
			}
		}
		c := exec.CommandContext(ctx, step[0], step[1:]...)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(step, " "), err)
		}
	}
	return python, os.WriteFile(complete, nil, 0o600)
}

// program starts ministack and ends it when its standard input ends, even if this process is killed.
const program = `import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from ministack.app import main
main()`

// patience limits the time until ministack responds.
const patience = time.Minute

// start runs ministack on a free port until stop is called.
func start(ctx context.Context, python string) (endpoint string, stop func(), err error) {
	folder, err := os.MkdirTemp("", "ministack-")
	if err != nil {
		return "", nil, err
	}
	address, err := free()
	if err != nil {
		return "", nil, err
	}
	endpoint = "http://" + address
	_, port, _ := strings.Cut(address, ":")
	c := exec.CommandContext(ctx, python, "-c", program)
	c.Env = append(os.Environ(), "BIND_HOST=127.0.0.1", "GATEWAY_PORT="+port, "TMPDIR="+folder, "LOG_LEVEL=CRITICAL") // tests report failures
	c.Dir = folder
	in, err := c.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("start ministack: %w", err)
	}
	stop = func() {
		in.Close()
		c.Wait()
		os.RemoveAll(folder)
	}
	for end := time.Now().Add(patience); ; {
		if r, err := http.Get(endpoint + "/_ministack/health"); err == nil {
			r.Body.Close()
			return endpoint, stop, nil
		} else if ctx.Err() != nil || time.Now().After(end) {
			stop()
			return "", nil, fmt.Errorf("ministack did not start: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// free returns an address with an unused port.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// result is the outcome of one test and its output.
type result struct {
	passed bool
	output strings.Builder
}

// test runs all suites. Failed tests are not an error.
func test(ctx context.Context, endpoint string) (map[string]*result, error) {
	arguments := []string{"test", "-json", "-count=1", "-timeout=15m", "-p=2", "-parallel=8"}
	// Their tests need no AWS features that ministack lacks.
	for _, p := range []string{"internal/cloud", "internal/dynamo", "internal/eventbridge", "internal/s3", "internal/sns", "internal/sqs", "internal/ssm",
		"operators/aws", "operators/dynamodb", "operators/lambda", "operators/s3", "operators/sns", "operators/sqs", "operators/stepfunctions"} {
		arguments = append(arguments, "./"+p)
	}
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Env = append(os.Environ(), "MINISTACK_ENDPOINT="+endpoint)
	c.Stderr = os.Stderr
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || ctx.Err() != nil {
			return nil, fmt.Errorf("go test: %w", err)
		}
	}
	return read(&out)
}

// read reads what `go test -json` prints. A test that did not end although its package did has failed, and so has a
// package that failed without any test.
func read(events io.Reader) (map[string]*result, error) {
	results := map[string]*result{}
	for d := json.NewDecoder(events); ; {
		var e struct{ Action, Package, Test, Output, ImportPath string }
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go test: %w", err)
		}
		name := strings.TrimPrefix(e.Package, "zerodag/") + " " + e.Test
		if e.Action == "build-fail" {
			return nil, fmt.Errorf("%s does not build", e.ImportPath)
		}
		if e.Package == "" {
			continue
		}
		if results[name] == nil {
			results[name] = &result{}
		}
		results[name].output.WriteString(e.Output)
		switch e.Action {
		case "pass":
			results[name].passed = true
		case "skip":
			delete(results, name)
		}
	}
	return results, nil
}

// compare lists the tests whose results differ from unsupported.txt, with their output.
func compare(results map[string]*result, excused map[string]string) []string {
	var wrong []string
	for name, r := range results {
		if r.passed && excused[name] != "" {
			wrong = append(wrong, fmt.Sprintf("PASSES NOW: %s: remove it from integration/ministack/unsupported.txt (%s)", name, excused[name]))
		}
		if !r.passed && excused[name] == "" && !below(name, results) {
			wrong = append(wrong, fmt.Sprintf("FAILS: %s\n%s", name, r.output.String()))
		}
	}
	for name, reason := range excused {
		if results[name] == nil {
			wrong = append(wrong, fmt.Sprintf("NOT RUN: %s is in integration/ministack/unsupported.txt (%s)", name, reason))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// below reports whether a test or a package failed because of one of its tests, which is checked separately.
func below(name string, results map[string]*result) bool {
	for other, r := range results {
		if !r.passed && other != name && (strings.HasPrefix(other, name+"/") || strings.HasSuffix(name, " ") && strings.HasPrefix(other, name)) {
			return true
		}
	}
	return false
}
