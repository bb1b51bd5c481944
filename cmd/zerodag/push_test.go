package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/projectfolder"
)

// TestPoolsOfADryRun checks that a dry run never fails because a server does not report its pools: an older server and
// Digdag's have none, and another server may not let every user read them.
func TestPoolsOfADryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "one.dig"), []byte("zerodag: 1\n+a: {_pool: lake, echo>: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	project, err := projectfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	contents, err := project.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status     int
		body       string
		says, hint string
	}{
		{http.StatusNotFound, "", "", ""},
		{http.StatusForbidden, "{}", "", "Could not check"},
		{http.StatusOK, `{"pools": []}`, "one.dig:2:6: Pool 'lake' does not exist: `zerodag pool set lake N` creates it with N slots (task +one+a)", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		defer server.Close()
		var hint bytes.Buffer
		to, err := client.New(client.Options{Endpoint: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		push := pushCommand{remote: remote{cli.Remote{Streams: cli.Streams{Err: &hint, ProgramVersion: version()}, Client: to}}}
		says := ""
		if err := push.findPools(t.Context(), project, contents.Workflows, "p"); err != nil {
			says = err.Error()
		}
		if says != c.says || !strings.Contains(hint.String(), c.hint) || c.hint == "" && hint.Len() > 0 {
			t.Errorf("%d: %q and %q, want %q and %q", c.status, says, hint.String(), c.says, c.hint)
		}
	}
}
