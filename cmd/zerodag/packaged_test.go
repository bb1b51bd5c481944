package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"zerodag/cmd/zerodag/internal/cli"
)

// TestPackagedSettings checks that the server accepts each setting of the file that packages install, including the
// examples after a "#".
func TestPackagedSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../packaging/files/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^#([a-z][a-z._-]+ = )`).ReplaceAllString(string(text), "$1")
	if n := len(regexp.MustCompile(`(?m)^[a-z._-]+ = `).FindAllString(all, -1)); n < 8 || regexp.MustCompile(`(?m)^#\S`).MatchString(all) {
		t.Fatalf("%d settings are read in\n%s", n, all)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "server.properties")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(all, "/var/lib/zerodag", filepath.Join(folder, "data"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := served(t, "server", "-n", "0", "-c", config); strings.Contains(said, "unused configuration keys") {
		t.Errorf("the server does not know all of them:\n%s", said)
	}
}

// TestComposeCommand checks that the server accepts the options that the compose file gives it.
func TestComposeCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../packaging/files/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	args := file.Services["zerodag"].Command
	for i, a := range args {
		switch a {
		case "/var/lib/zerodag":
			args[i] = filepath.Join(t.TempDir(), "data")
		case "0.0.0.0":
			args[i] = "127.0.0.1"
		}
	}
	said := served(t, append(args, "-n", "0", "-c", os.DevNull)...)
	if !strings.Contains(said, "admin.token") {
		t.Errorf("it makes no first token:\n%s", said)
	}
}

// served runs a server until it listens, and returns its log.
func served(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, errs := &listening{found: make(chan string, 1)}, &bytes.Buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: errs, ProgramVersion: version()})
	}()
	select {
	case <-out.found:
		stop()
		<-ended
	case code := <-ended:
		t.Fatalf("the server ended with code %d\n%s%s", code, out, errs)
	}
	return out.String()
}
