package gcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/gcp/api"
)

// work is one run of a task.
type work struct {
	*operators.Task
	params  *operators.Params // with the defaults of `bq: {...}` or `gcs: {...}`
	logger  string            // source of messages in the task's log
	client  *api.Client
	project string
}

// The maximum permissions of tokens, as named by Google.
const (
	scopeBigQuery = "https://www.googleapis.com/auth/cloud-platform" // loads read Cloud Storage, and extracts write there
	scopeStorage  = "https://www.googleapis.com/auth/devstorage.read_only"
)

// newWork reads the defaults of a group and the task's credential. Nothing is sent.
func newWork(t *operators.Task, group, scope, logger string) (*work, error) {
	params, err := t.Params.WithDefaults(group)
	if err != nil {
		return nil, err
	}
	w := &work{Task: t, params: params, logger: logger}
	text, found, err := t.Secrets.Get("gcp.credential")
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, operators.MissingSecret("gcp.credential", param.Errorf("Could not get google cloud credential: need gcp.credential secret; set the key of a service account: `zerodag secrets --project NAME --set gcp.credential=@key.json`"))
	}
	credential, err := api.ReadCredential(text)
	if err != nil {
		return nil, err
	}
	if w.project, err = t.OptionalSecret("gcp.project"); err != nil {
		return nil, err
	}
	if w.project = strings.TrimSpace(w.project); w.project == "" {
		w.project = credential.Project
	}
	if w.project == "" {
		return nil, param.Errorf("Missing 'gcp.project' secret: the credential does not name a project, so set it: `zerodag secrets --project NAME --set gcp.project`")
	}
	w.client = &api.Client{HTTP: t.HTTP.Client(operators.HTTPOptions{}), Credential: credential, Scope: scope}
	for key, into := range map[string]*string{"gcp.bigquery.endpoint": &w.client.BigQuery, "gcp.storage.endpoint": &w.client.Storage} {
		if *into, err = w.endpoint(key); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// endpoint returns the address of an API from a secret: only a user who can set the credential may choose where a token
// is sent. "" is Google's default.
func (w *work) endpoint(key string) (string, error) {
	address, err := w.OptionalSecret(key)
	if address = strings.TrimSpace(address); err != nil || address == "" {
		return "", err
	}
	return address, api.CheckAddress("'"+key+"' secret", address)
}

func (w *work) log(level operators.Level, format string, args ...any) {
	w.Log.Line(level, w.logger, fmt.Sprintf(format, args...))
}

// Like Digdag, a task doubles the wait each time, within these limits, and waits at least 5 seconds between two polls.
const (
	shortestWait = time.Second
	longestWait  = 30 * time.Second
	shortestLook = 5 * time.Second
)

func backOff(n int64) time.Duration {
	if n >= 30 || shortestWait<<n > longestWait {
		return longestWait
	}
	return shortestWait << n
}

func nextLook(n int64) time.Duration { return max(backOff(n), shortestLook) }

// unreadable is how many times a request is retried if its response is unreadable.
const unreadable = 3

// failed decides what happens to a task after a failed call: another run if that may help, otherwise failure. n counts
// the consecutive failures, and next is the state of another run.
func (w *work) failed(ctx context.Context, doing string, err error, n int64, next *param.Map) error {
	var told *api.Unreadable
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !api.Temporary(err) && (!errors.As(err, &told) || n >= unreadable):
		return failure(doing, err)
	}
	after := max(backOff(n), api.After(err))
	w.log(operators.Warn, "%s: %v: retrying in %d seconds", doing, err, after/time.Second)
	return &operators.Later{After: after, State: next}
}

// failure returns a call's error as users see it; other errors are returned unchanged.
func failure(doing string, err error) error {
	var named interface{ Kind() string }
	if errors.As(err, &named) {
		return operators.Causedf(err, "%s: %v (%s)", doing, err, named.Kind())
	}
	return err
}

// progress holds what a task stores about a part of its work, in Digdag's form.
type progress struct {
	of      *operators.Params
	retries int64 // consecutive failures
	looks   int64 // polls that found nothing yet
}

func readProgress(tree *param.Map) (p progress, err error) {
	p.of = operators.NewParams(tree)
	if p.retries, err = p.of.IntOr("retry", 0); err != nil {
		return p, err
	}
	p.looks, err = p.of.IntOr("iteration", 0)
	return p, err
}

// tree returns the state to store next, merged with other values.
func (p progress) tree(beside *param.Map) *param.Map {
	out := beside.Clone()
	for key, n := range map[string]int64{"retry": p.retries, "iteration": p.looks} {
		if n > 0 {
			out.Set(key, n)
		}
	}
	return out
}

// under returns a state with the value under the key.
func under(state *param.Map, key string, v param.Value) *param.Map {
	next := state.Clone()
	next.Set(key, v)
	return next
}
