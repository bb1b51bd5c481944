package gated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"zerodag/integration/server"
	"zerodag/integration/stack"
)

// patience is how long one attempt may take: a deployed stack starts a machine for commands.
const patience = 5 * time.Minute

// farOtherwise lists cases that cannot run on a deployed stack as they are written, and why.
var farOtherwise = map[string]string{
	"defaults_repeat":       "ZERODAG_TRY counts the looks after a command that runs elsewhere, too",
	"repeat_limit_succeeds": "ZERODAG_TRY counts the looks after a command that runs elsewhere, too",
	"try_of_places":         "ZERODAG_TRY counts the looks after a command that runs elsewhere, too",
	"try_of_slots":          "ZERODAG_TRY counts the looks after a command that runs elsewhere, too",
	"sliding":               "each command has a /tmp of its own there",
	"timeout_grace":         "each command has a /tmp of its own there",
	"timeout_group_retry":   "the start of a command takes longer than the time that the case gives",
	"timeout_retry":         "the start of a command takes longer than the time that the case gives",
}

// remote is a server that is reached only through its API.
type remote struct{ url, token string }

// TestServer checks that each project has the same result on servers that share a database, and on a deployed stack,
// whichever the environment names (packages server and stack).
func TestServer(t *testing.T) {
	t.Parallel()
	r, deployed := found(t)
	t.Run("cases", func(t *testing.T) { // a group, so that the servers live until all of them have ended
		eachFile(t, "cases", func(t *testing.T, name string, a *txtar.Archive) {
			project := strings.TrimSuffix(filepath.Base(name), ".txtar")
			if why := farOtherwise[project]; why != "" && deployed {
				t.Skip("NOT RUN: " + why)
			}
			compare(t, name, a, r.run(t, project, a))
		})
	})
}

// found returns the server that the environment names, and whether it is a deployed stack.
func found(t *testing.T) (r remote, deployed bool) {
	t.Helper()
	place, deployed := stack.Find()
	_, shared := server.Found()
	switch {
	case deployed:
		r = remote{place.URL, place.Token}
	case shared:
		s := server.New(t, server.Build(t))
		s.Start()
		r.url = s.URL()
	default:
		t.Skip("NOT RUN: `make test-servers` and `make test-aws` run it")
	}
	return r, deployed
}

// run is like the function run, but on the server, in a project with the name of the case.
func (r remote) run(t *testing.T, name string, a *txtar.Archive) string {
	t.Helper()
	files, workflow, params := project(t, a)
	name = fmt.Sprintf("gated-%s-%d", name, os.Getpid())
	var pushed struct{ ID string }
	r.must(t, http.MethodPut, "/api/projects?project="+name+"&revision=1", "application/gzip", server.Pack(files), &pushed)
	var workflows struct{ Workflows []struct{ ID string } }
	r.must(t, http.MethodGet, "/api/projects/"+pushed.ID+"/workflows?name="+workflow, "", nil, &workflows)
	if params == nil {
		params = map[string]any{}
	}
	body, err := json.Marshal(map[string]any{"workflowId": workflows.Workflows[0].ID, "sessionTime": time.Now().UTC().Truncate(time.Second).Format(time.RFC3339), "params": params})
	if err != nil {
		t.Fatal(err)
	}
	status, answer := r.call(t, http.MethodPut, "/api/attempts", "application/json", body)
	var attempt struct{ ID, Message string }
	if err := json.Unmarshal(answer, &attempt); err != nil {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	switch {
	case status == http.StatusBadRequest && len(params) > 0:
		return "refused: " + attempt.Message + "\n"
	case status != http.StatusOK:
		t.Fatalf("start: %d %s", status, answer)
	}
	r.await(t, attempt.ID)
	return ended(func(path string, into any) { r.must(t, http.MethodGet, path, "", nil, into) }, attempt.ID)
}

// await waits for the end of an attempt.
func (r remote) await(t *testing.T, id string) {
	t.Helper()
	var attempt struct{ Done bool }
	for begin := time.Now(); !attempt.Done; {
		time.Sleep(min(max(20*time.Millisecond, time.Since(begin)/10), time.Second)) // many clients poll, and each poll is work for the server
		r.must(t, http.MethodGet, "/api/attempts/"+id, "", nil, &attempt)
		if time.Since(begin) > patience {
			t.Fatalf("attempt %s does not end", id)
		}
	}
}

func (r remote) must(t *testing.T, method, path, contentType string, body []byte, into any) {
	t.Helper()
	status, answer := r.call(t, method, path, contentType, body)
	if err := json.Unmarshal(answer, into); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s: %v", method, path, status, answer, err)
	}
}

func (r remote) call(t *testing.T, method, path, contentType string, body []byte) (status int, answer []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		q.Header.Set("Content-Type", contentType)
	}
	if r.token != "" {
		q.Header.Set("Authorization", "Bearer "+r.token)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	answer, err = io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, answer
}
