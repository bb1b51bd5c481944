// Package iam decides like AWS whether the policies of a role allow the calls of a function. LocalStack checks no
// policies, so a missing right would show only on an account.
//
// The proxy uses it. A policy simulator from npm makes the decision; it runs along with the tests and is not part of
// any build.
package iam

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Account is the number of LocalStack's account.
const Account = "000000000000"

// Access is the right that a request needs: an action on a resource, with the values that conditions may test.
type Access struct {
	Action   string            `json:"action"`
	Resource string            `json:"resource"`
	Context  map[string]string `json:"context,omitempty"`
}

// Judge decides whether accesses are allowed. It is safe for concurrent use.
type Judge struct {
	mu    sync.Mutex
	in    io.WriteCloser
	out   *bufio.Scanner
	known map[string]verdict // by role and access
	wait  func() error
}

type verdict struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why"`
}

// Open starts the simulator.
func Open() (*Judge, error) {
	found, err := exec.Command("go", "list", "-f", "{{.Dir}}", "zerodag/integration/localstack/iam").Output()
	if err != nil {
		return nil, fmt.Errorf("locate the policy simulator: %w", err)
	}
	folder := strings.TrimSpace(string(found))
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		return nil, fmt.Errorf("the policy simulator is not installed: npm ci --prefix %s", folder)
	}
	c := exec.Command("node", "judge.mjs")
	c.Dir, c.Stderr = folder, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start the policy simulator: %w", err)
	}
	return &Judge{in: in, out: bufio.NewScanner(out), known: map[string]verdict{}, wait: c.Wait}, nil
}

// Close ends the simulator.
func (j *Judge) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.in.Close()
	return j.wait()
}

// Role registers the policies of a role, as JSON documents.
func (j *Judge) Role(role string, policies []json.RawMessage) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(map[string]any{"role": role, "policies": policies})
}

// Allows reports whether a role has an access, and if not, why not.
func (j *Judge) Allows(role string, a Access) (bool, string, error) {
	key, err := json.Marshal([]any{role, a})
	if err != nil {
		return false, "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if v, there := j.known[string(key)]; there {
		return v.Allowed, v.Why, nil
	}
	question := struct {
		Role    string `json:"role"`
		Account string `json:"account"`
		Access
	}{role, Account, a}
	if err := j.write(question); err != nil {
		return false, "", err
	}
	var v verdict
	if !j.out.Scan() {
		return false, "", fmt.Errorf("the policy simulator has ended: %w", j.out.Err())
	}
	if err := json.Unmarshal(j.out.Bytes(), &v); err != nil {
		return false, "", fmt.Errorf("read the verdict: %w", err)
	}
	j.known[string(key)] = v
	return v.Allowed, v.Why, nil
}

func (j *Judge) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := j.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("query the policy simulator: %w", err)
	}
	return nil
}
