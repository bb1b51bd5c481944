package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/docker"
	"zerodag/internal/docker/dockertest"
	"zerodag/operators"
)

// TestServerDataStaysOutOfContainers proves that neither containers nor image builds can see a server's data that is
// inside the project.
func TestServerDataStaysOutOfContainers(t *testing.T) {
	t.Parallel()
	f := dockertest.New(t)
	root := t.TempDir()
	data := filepath.Join(root, "sub", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "zerodag.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(root, text string) error {
		_, err := docker.New(docker.Options{}).In(root, docker.Project{ID: 1, Revision: "r"}).Run(t.Context(),
			operators.Command{Args: []string{"/bin/sh", "-c", "true"}, Sandbox: operators.Sandbox{Docker: options(t, f.Program(), text)}})
		return err
	}
	if err := run(root, `{}`); err != nil {
		t.Fatal(err)
	}
	if calls := strings.Join(f.Calls(t), "\n"); !strings.Contains(calls, `type=tmpfs,\"target=`+data+`\"`) {
		t.Errorf("the container sees the data: %s", calls)
	}
	if err := run(root, `{"build": ["x"]}`); err == nil || !strings.Contains(err.Error(), "the project contains server data in sub/data") {
		t.Errorf("a build with data: %v", err)
	}
	if err := run(data, `{}`); err == nil || !strings.Contains(err.Error(), "contains server data, which must not be mounted") {
		t.Errorf("a project that is data: %v", err)
	}
}
