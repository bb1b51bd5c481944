// Package load lets many clients call one server at once and checks whether a call fails and whether anything is left
// behind: goroutines, file handles, memory. `make test` runs it for seconds, `make bench` for a minute (ZERODAG_LOAD).
// No package imports it.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/integration/server"
)

// Clients share what they know about a server: the attempts that were started so far.
type Clients struct {
	url      string
	client   *http.Client
	workflow string // ID of the workflow that is started
	project  string // its project's id
	schedule string // id of a schedule

	session, revision atomic.Int64
	mu                sync.Mutex
	attempts          []attempt
	took              map[string][]time.Duration
	failures          []string
}

type attempt struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionId"`
}

const project = `+hello:
  sh>: echo hello
+more:
  _parallel: true
  +a: {echo>: "${session_time}"}
  +b: {echo>: "${session_id}"}
`

const scheduled = "schedule: {daily>: '07:00:00'}\n+x: {echo>: x}\n"

// NewClients pushes a project and starts an attempt, so that there is something to query.
func NewClients(ctx context.Context, url string, n int) (*Clients, error) {
	c := &Clients{url: url, took: map[string][]time.Duration{},
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: n, MaxConnsPerHost: n}}}
	if err := c.push(ctx); err != nil {
		return nil, err
	}
	var found struct {
		Projects  []struct{ ID string }
		Workflows []struct{ ID string }
		Schedules []struct{ ID string }
	}
	for _, path := range []string{"/api/projects?name=load", "/api/workflows?name_pattern=main", "/api/schedules"} {
		text, err := c.call(ctx, http.MethodGet, path, "", nil)
		if err == nil {
			err = json.Unmarshal(text, &found)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(found.Projects) == 0 || len(found.Workflows) == 0 || len(found.Schedules) == 0 {
		return nil, errors.New("the pushed workflows are not listed")
	}
	c.project, c.workflow, c.schedule = found.Projects[0].ID, found.Workflows[0].ID, found.Schedules[0].ID
	return c, c.start(ctx)
}

// Close closes the connections.
func (c *Clients) Close() { c.client.CloseIdleConnections() }

// kind is one sort of call; shares add up to 100.
type kind struct {
	name  string
	share int
	do    func(context.Context) error
}

func (c *Clients) kinds() []kind {
	get := func(path func() string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.call(ctx, http.MethodGet, path(), "", nil)
			return err
		}
	}
	fixed := func(path string) func(context.Context) error { return get(func() string { return path }) }
	ofAttempt := func(form string) func(context.Context) error {
		return get(func() string { return fmt.Sprintf(form, c.any().ID) })
	}
	return []kind{
		{"list projects", 8, fixed("/api/projects")},
		{"list workflows", 6, fixed("/api/workflows?count=20")},
		{"list schedules", 6, fixed("/api/schedules")},
		{"list sessions", 10, fixed("/api/sessions?page_size=20")},
		{"list attempts", 10, fixed("/api/attempts?project=load&page_size=20")},
		{"get project", 5, fixed("/api/projects/" + c.project)},
		{"get attempt", 14, ofAttempt("/api/attempts/%s")},
		{"get tasks", 12, ofAttempt("/api/attempts/%s/tasks")},
		{"get session", 5, get(func() string { return "/api/sessions/" + c.any().SessionID })},
		{"get archive", 2, fixed("/api/projects/" + c.project + "/archive")},
		{"read log", 12, c.readLog},
		{"skip (dry)", 3, func(ctx context.Context) error {
			_, err := c.call(ctx, http.MethodPost, "/api/schedules/"+c.schedule+"/skip", "application/json", []byte(`{"nextTime":"2100-01-01T00:00:00Z","dryRun":true}`))
			return err
		}},
		{"start", 5, c.start},
		{"push", 2, c.push},
	}
}

// Run lets n clients make calls for the given time. Errors are kept for Failures.
func (c *Clients) Run(ctx context.Context, n int, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	kinds := c.kinds()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				k := choose(kinds)
				begin := time.Now()
				err := k.do(context.WithoutCancel(ctx)) // calls that have begun are finished
				c.note(k.name, time.Since(begin), err)
			}
		})
	}
	all.Wait()
}

func choose(kinds []kind) kind {
	n := rand.IntN(100)
	for _, k := range kinds {
		if n -= k.share; n < 0 {
			return k
		}
	}
	panic("the shares do not add up to 100")
}

func (c *Clients) note(name string, d time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[name] = append(c.took[name], d)
	if err != nil {
		c.failures = append(c.failures, name+": "+err.Error())
	}
}

// Failures returns the failed calls.
func (c *Clients) Failures() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.failures)
}

// Report returns a table of latencies by kind of call.
func (c *Clients) Report(d time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	var all []time.Duration
	row := func(name string, took []time.Duration) {
		slices.Sort(took)
		at := func(share float64) time.Duration {
			return took[min(len(took)-1, int(share*float64(len(took))))].Round(100 * time.Microsecond)
		}
		fmt.Fprintf(&b, "%-16s %8d calls  p50 %8v  p95 %8v  p99 %8v  max %8v\n", name, len(took), at(0.5), at(0.95), at(0.99), at(1))
	}
	for _, k := range c.kinds() {
		if took := c.took[k.name]; len(took) > 0 {
			all = append(all, took...)
			row(k.name, took)
		}
	}
	if len(all) > 0 {
		row("all", all)
		fmt.Fprintf(&b, "%.0f requests per second\n", float64(len(all))/d.Seconds())
	}
	return b.String()
}

func (c *Clients) call(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %.200s", method, path, answer.StatusCode, text)
	}
	return text, err
}

// any returns one of the attempts; newer ones are requested more often, as users do.
func (c *Clients) any() attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.attempts)
	if rand.IntN(2) == 0 {
		return c.attempts[n-1-rand.IntN(min(n, 50))]
	}
	return c.attempts[rand.IntN(n)]
}

func (c *Clients) start(ctx context.Context) error {
	session := time.Unix(1_700_000_000+c.session.Add(1), 0).UTC().Format(time.RFC3339)
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, c.workflow, session)
	text, err := c.call(ctx, http.MethodPut, "/api/attempts", "application/json", []byte(body))
	var a attempt
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts = append(c.attempts, a)
	return nil
}

// readLog lists the log files of an attempt and reads the first; a new attempt has none yet.
func (c *Clients) readLog(ctx context.Context) error {
	path := "/api/logs/" + c.any().ID + "/files"
	text, err := c.call(ctx, http.MethodGet, path, "", nil)
	var list struct{ Files []struct{ FileName string } }
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list.Files) == 0 {
		return err
	}
	_, err = c.call(ctx, http.MethodGet, path+"/"+list.Files[0].FileName, "", nil)
	return err
}

func (c *Clients) push(ctx context.Context) error {
	revision := "r" + strconv.FormatInt(c.revision.Add(1), 10)
	body := server.Pack(map[string]string{"main.dig": project, "daily.dig": scheduled, "revision.txt": revision})
	_, err := c.call(ctx, http.MethodPut, "/api/projects?project=load&revision="+revision, "application/gzip", body)
	return err
}
