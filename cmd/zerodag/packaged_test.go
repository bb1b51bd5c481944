package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackagedSettings proves that the server takes each setting of the file that packages install, also those that
// are there as examples behind a "#".
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
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, errs := &listening{found: make(chan string, 1)}, &bytes.Buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"server", "-n", "0", "-c", config}, streams{strings.NewReader(""), out, errs})
	}()
	select {
	case <-out.found:
		stop()
		<-ended
	case code := <-ended:
		t.Fatalf("the server ended with code %d\n%s%s", code, out, errs)
	}
	if said := out.String(); strings.Contains(said, "without a meaning") {
		t.Errorf("the server does not know all of them:\n%s", said)
	}
}
