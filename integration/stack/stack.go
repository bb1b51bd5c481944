// Package stack is the deployed stack under test, on LocalStack or on an account: it finds the stack named by the
// environment (`make test-aws`, `make integration-aws`), pushes, starts and waits like a client, and reads its queues.
//
// Its tests cover what only a stack has: signed requests, links into S3, uploads, functions that are killed. The tests
// of behavior that every server must have, in the other packages of integration, use it to find out whether they run on
// a stack or start a separate server. It must never start a server, hide that a test did not run, or retry requests
// that are not safe to repeat. A start names its session, so repeating it is safe.
package stack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/server"
	"zerodag/internal/env"
)

// Stack is a deployed stack.
type Stack struct {
	URL   string // of its REST API
	Token string // of an administrator of site 0
	Stage string // the stage that it was deployed as
	// Commands means that the stack runs sh>, py> and rb>. It is also true for a server that a test starts.
	Commands bool
	client   *http.Client
}

// Find returns the stack that the environment names, as deploy.sh prints it. It returns false if there is none: then a
// test of behavior that every server must have starts a separate server.
func Find() (*Stack, bool) {
	url := os.Getenv("ZERODAG_SERVER")
	return &Stack{URL: url, Token: os.Getenv("ZERODAG_TOKEN"), Stage: cmp.Or(os.Getenv("ZERODAG_STAGE"), "e2e"),
		Commands: url == "" || os.Getenv("ZERODAG_NO_COMMANDS") == "",
		client:   &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 50}}}, url != ""
}

// Deployed is Find for tests that only a deployed stack can pass: without one, they are skipped, or fail if REQUIRE
// names localstack.
func Deployed(t testing.TB) *Stack {
	t.Helper()
	s, ok := Find()
	if ok {
		return s
	}
	const remedy = `eval "$(integration/localstack/deploy.sh)" deploys one and sets ZERODAG_SERVER`
	if strings.Contains(os.Getenv("REQUIRE"), "localstack") {
		t.Fatal("no deployed stack: " + remedy)
	}
	t.Skip("SKIPPED: no deployed stack: " + remedy)
	return s
}

// Alone returns the stack on LocalStack that the environment names, for a test that must have it to itself, because it
// kills or counts other tests' work: ZERODAG_ALONE confirms that it has.
func Alone(t testing.TB) *Stack {
	t.Helper()
	if os.Getenv("ZERODAG_ALONE") == "" {
		t.Skip("NOT RUN: this test and other tests of the stack would disturb each other; set ZERODAG_ALONE=1 if no others run")
	}
	localstack.Config(t)
	return Deployed(t)
}

// NeedsServer marks a test that needs a separate server, and explains why a deployed stack cannot be used: the test is
// skipped if the environment names one.
func NeedsServer(t testing.TB, why string) {
	t.Helper()
	if _, ok := Find(); ok {
		t.Skipf("NOT RUN on a deployed stack: %s", why)
	}
}

// Far reports whether the stack cannot reach local servers because it is on a real account.
func (s *Stack) Far() bool {
	u, err := url.Parse(s.URL)
	return err == nil && u.Hostname() != "" && u.Hostname() != "127.0.0.1"
}

// Call sends a request once. An error means that there was no response: the request may or may not have been carried
// out.
func (s *Stack) Call(ctx context.Context, method, path, contentType string, body []byte) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// patience is how long a call is retried while there is no response or a server error, because functions may have been
// killed.
const patience = 90 * time.Second

// ask retries a call until the server has answered it.
func (s *Stack) ask(ctx context.Context, method, path, contentType string, body []byte, into any) error {
	for deadline := time.Now().Add(patience); ; {
		status, text, err := s.Call(ctx, method, path, contentType, body)
		switch {
		case err == nil && status == http.StatusOK:
			if into == nil {
				return nil
			}
			if err := json.Unmarshal(text, into); err != nil {
				return fmt.Errorf("%s %s: %w\n%s", method, path, err, text)
			}
			return nil
		case err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			return &Refused{Status: status, Text: string(text), call: method + " " + path}
		case ctx.Err() != nil || time.Now().After(deadline):
			return fmt.Errorf("%s %s: %d %s %w", method, path, status, text, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Refused is a response that reports a client error.
type Refused struct {
	Status int
	Text   string
	call   string
}

func (r *Refused) Error() string { return fmt.Sprintf("%s: %d %s", r.call, r.Status, r.Text) }

// Get reads JSON, and retries the request until there is a response.
func (s *Stack) Get(ctx context.Context, path string, into any) error {
	return s.ask(ctx, http.MethodGet, path, "", nil, into)
}

// Post sends and reads JSON, and retries the request until there is a response.
func (s *Stack) Post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.ask(ctx, http.MethodPost, path, "application/json", text, into)
}

// Project is a pushed project: its id, and the ids of its workflows by name.
type Project struct {
	ID        string
	Workflows map[string]string
}

// Push pushes files as a revision that is named after the time.
func (s *Stack) Push(ctx context.Context, project string, files map[string]string) (Project, error) {
	p := Project{Workflows: map[string]string{}}
	path := fmt.Sprintf("/api/projects?project=%s&revision=r%d", project, time.Now().UnixNano())
	var pushed struct{ ID string }
	if err := s.ask(ctx, http.MethodPut, path, "application/gzip", server.Pack(files), &pushed); err != nil {
		return p, err
	}
	p.ID = pushed.ID
	var list struct{ Workflows []struct{ ID, Name string } }
	err := s.Get(ctx, "/api/projects/"+p.ID+"/workflows", &list)
	for _, w := range list.Workflows {
		p.Workflows[w.Name] = w.ID
	}
	return p, err
}

// Attempt is an attempt as the API shows it.
type Attempt struct {
	ID              string
	Done, Success   bool
	CancelRequested bool
	Index           int
	SessionTime     string
}

// Start starts an attempt; it also succeeds if an earlier request started it.
func (s *Stack) Start(ctx context.Context, workflow string, session time.Time) (Attempt, error) {
	body, err := json.Marshal(map[string]any{"workflowId": workflow, "sessionTime": session.UTC().Format(time.RFC3339), "params": map[string]any{}})
	if err != nil {
		return Attempt{}, err
	}
	var a Attempt
	err = s.ask(ctx, http.MethodPut, "/api/attempts", "application/json", body, &a)
	if r, ok := err.(*Refused); ok && r.Status == http.StatusConflict {
		err = json.Unmarshal([]byte(r.Text), &a)
	}
	if err == nil && a.ID == "" {
		err = fmt.Errorf("the response to the start of workflow %s has no id", workflow)
	}
	return a, err
}

// Wait waits for the end of an attempt.
func (s *Stack) Wait(ctx context.Context, id string) (Attempt, error) {
	for {
		var a Attempt
		err := s.Get(ctx, "/api/attempts/"+id, &a)
		if err != nil || a.Done {
			return a, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return a, fmt.Errorf("wait for attempt %s: %w", id, ctx.Err())
		}
	}
}

// Attempts lists all attempts of a workflow.
func (s *Stack) Attempts(ctx context.Context, project, workflow string) ([]Attempt, error) {
	var list []Attempt
	for last := ""; ; {
		var page struct{ Attempts []Attempt }
		if err := s.Get(ctx, "/api/attempts?include_retried=true&project="+project+"&workflow="+workflow+last, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Attempts...)
		if len(page.Attempts) == 0 {
			return list, nil
		}
		last = "&last_id=" + page.Attempts[len(page.Attempts)-1].ID
	}
}

// Config returns the configuration of the stack's functions.
func (s *Stack) Config(ctx context.Context) (env.Config, error) {
	variables, err := proxy.Environment(ctx, s.Stage, "executor")
	if err != nil {
		return env.Config{}, err
	}
	return env.Read(func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
}

// Tick makes the call that EventBridge makes every minute; more calls are harmless.
func (s *Stack) Tick(ctx context.Context) error {
	return proxy.Invoke(ctx, s.Stage, "tick", map[string]string{"source": "aws.events"})
}
