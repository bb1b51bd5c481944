package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/operators"
	"zerodag/operators/all"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// awayOnce fails the first write.
type awayOnce struct {
	operators.Files
	n int
}

func (a *awayOnce) Write(name string, content []byte) error {
	if a.n > 0 {
		a.n--
		return fmt.Errorf("read project archive: %w", operators.ErrUnavailable)
	}
	return a.Files.Write(name, content)
}

// TestCallOnce checks that a request that changes something is not sent again if its response could not be stored.
func TestCallOnce(t *testing.T) {
	t.Parallel()
	posts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
		}
		w.Header().Set("Content-Type", "application/x-yaml")
		fmt.Fprint(w, "+a:\n  echo>: x\n")
	}))
	defer server.Close()
	files := &awayOnce{n: 1}
	var state *param.Map
	for n := range 3 {
		w := operatortest.New(t, `{"_command": "x"}`)
		files.Files = w.Task.Files
		w.Files, w.State, w.Identity.RetryCount = files, state, n
		j := &run.Job{Task: w.Task, Own: param.New("http_call>", server.URL, "method", "POST"), Vars: param.New(), Vault: noVault{}, Scope: expr.Scope{Zone: time.UTC, Now: operatortest.Now}}
		out := run.Run(t.Context(), all.Registry(), evaluator.InProcess(nil), j)
		t.Logf("run %d: %+v error %v\n%s", n, out.Later, out.Error, w.Output)
		if out.Later == nil {
			break
		}
		state = out.Later.State
	}
	if posts != 1 {
		t.Errorf("%d requests were sent", posts)
	}
}

// TestCallHasTheLevelOfItsTask checks that a response without a language level has its task's level, including the keys
// at its top.
func TestCallHasTheLevelOfItsTask(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-yaml")
		fmt.Fprint(w, "_timeout: 1m\n+a: {_if: true, echo>: x}\n")
	}))
	defer server.Close()
	for level, want := range []string{"null", `{"zerodag":1,"_timeout":"1m","+a":{"_if":true,"echo>":"x"}}`} {
		w := operatortest.New(t, `{}`)
		w.Level = level
		j := &run.Job{Task: w.Task, Own: param.New("http_call>", server.URL), Vars: param.New(), Vault: noVault{}, Scope: expr.Scope{Zone: time.UTC, Now: operatortest.Now}}
		out := run.Run(t.Context(), all.Registry(), evaluator.InProcess(nil), j)
		made := "null"
		if out.Result != nil {
			made = param.Text(out.Result.Subtasks)
		}
		if made != want {
			t.Errorf("level %d: %s, want %s; %+v", level, made, want, out.Error)
		}
	}
}

type noVault struct{}

func (noVault) Secret(string) (string, bool, error) { return "", false, nil }
