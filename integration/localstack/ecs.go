package localstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// ECS controls the test bed's ECS for one cluster: the faults to inject, and all tasks that it ever ran.
type ECS struct {
	Endpoint, Cluster string
}

// ECSTask is a task as the test bed shows it. Its overrides lack the values of variables.
type ECSTask struct {
	ARN           string `json:"arn"`
	Definition    string `json:"definition"`
	Status        string `json:"status"`
	Desired       string `json:"desired"`
	StopCode      string `json:"stopCode"`
	StoppedReason string `json:"stoppedReason"`
	StartedBy     string `json:"startedBy"`
	Provider      string `json:"capacityProviderName"`
	CPU, Memory   string
	CreatedAt     float64 `json:"createdAt"` // seconds since 1970, like the other times; 0 if it did not happen
	StartedAt     float64 `json:"startedAt"`
	StoppedAt     float64 `json:"stoppedAt"`
	Containers    []ECSContainer
	Overrides     json.RawMessage
}

// ECSContainer is a container of a task.
type ECSContainer struct {
	Name     string `json:"name"`
	Status   string `json:"lastStatus"`
	ExitCode *int   `json:"exitCode"` // nil if it did not run, or if the code is unknown
	Reason   string `json:"reason"`
}

// Faults sets the faults of the cluster until the end of the test; names and meanings are defined in
// plugin/lsproc/ecs/faults.py. From then on, the cluster has its own limits.
func (e ECS) Faults(t testing.TB, faults map[string]any) {
	t.Helper()
	path := "/_ecs/faults?cluster=" + url.QueryEscape(e.Cluster)
	if err := e.call(t.Context(), http.MethodPut, path, faults, nil); err != nil {
		t.Fatal(err)
	}
	Cleanup(t, func(ctx context.Context) error { return e.call(ctx, http.MethodDelete, path, nil, nil) })
}

// Tasks returns all tasks of the cluster since LocalStack started, in the order of their start.
func (e ECS) Tasks(t testing.TB) []ECSTask {
	t.Helper()
	var list []ECSTask
	if err := e.call(t.Context(), http.MethodGet, "/_ecs/tasks?cluster="+url.QueryEscape(e.Cluster), nil, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Interrupt removes a Spot task's capacity: SIGTERM, and SIGKILL after the grace time.
func (e ECS) Interrupt(t testing.TB, task string, grace time.Duration) {
	t.Helper()
	if err := e.call(t.Context(), http.MethodPost, "/_ecs/tasks/"+task+"/interrupt", map[string]any{"grace": grace.Seconds()}, nil); err != nil {
		t.Fatal(err)
	}
}

// Lose ends a task as the loss of its host would: at once, without exit codes, and without an event unless event is
// set.
func (e ECS) Lose(t testing.TB, task string, event bool) {
	t.Helper()
	if err := e.call(t.Context(), http.MethodPost, "/_ecs/tasks/"+task+"/lose", map[string]any{"event": event}, nil); err != nil {
		t.Fatal(err)
	}
}

// Namespaces reports whether containers have separate mount and PID namespaces, which requires root.
func (e ECS) Namespaces(t testing.TB) bool {
	t.Helper()
	var about struct{ Namespaces bool }
	if err := e.call(t.Context(), http.MethodGet, "/_ecs", nil, &about); err != nil {
		t.Fatal(err)
	}
	return about.Namespaces
}

func (e ECS) call(ctx context.Context, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, e.Endpoint+path, &body)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
