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
	logger  string            // who writes into the task's log
	client  *api.Client
	project string
}

// What tokens may be used for at most, as Google names it.
const (
	scopeBigQuery = "https://www.googleapis.com/auth/cloud-platform" // loads read Cloud Storage, and extracts write there
	scopeStorage  = "https://www.googleapis.com/auth/devstorage.read_only"
)

// newWork reads the defaults of a group, and finds out as whom the task calls. Nothing is sent.
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
		return nil, operators.MissingSecret("gcp.credential", param.Errorf("Could not get google cloud credential: need gcp.credential secret; set the key of a service account, as `zerodag secrets --project NAME --set gcp.credential=@key.json`"))
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
		return nil, param.Errorf("Missing 'gcp.project' secret: the credential names no project, so set it, as `zerodag secrets --project NAME --set gcp.project`")
	}
	w.client = &api.Client{HTTP: t.HTTP.Client(operators.HTTPOptions{}), Credential: credential, Scope: scope}
	for key, into := range map[string]*string{"gcp.bigquery.endpoint": &w.client.BigQuery, "gcp.storage.endpoint": &w.client.Storage} {
		if *into, err = w.endpoint(key); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// endpoint is where an API is, by a secret: who may say where a token is sent is who set the
// credential. "" is Google's own.
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

// The original waits twice as long each time, within these bounds, and never less than 5 seconds
// between two looks.
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

// unreadable is how often an answer that nobody can read is asked for again.
const unreadable = 3

// failed is what becomes of a task when a call failed: another run where that may help, else its
// failure. n counts the failures in a row, and next is the state of another run.
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

// failure is the error of a call as users see it; an error that is of no call stays what it is.
func failure(doing string, err error) error {
	var named interface{ Kind() string }
	if errors.As(err, &named) {
		return operators.Causedf(err, "%s: %v (%s)", doing, err, named.Kind())
	}
	return err
}

// progress is what a task remembers of a part of its work, in the form of the original.
type progress struct {
	of      *operators.Params
	retries int64 // failures in a row
	looks   int64 // that found nothing yet
}

func readProgress(tree *param.Map) (p progress, err error) {
	p.of = operators.NewParams(tree)
	if p.retries, err = p.of.IntOr("retry", 0); err != nil {
		return p, err
	}
	p.looks, err = p.of.IntOr("iteration", 0)
	return p, err
}

// tree is what is remembered next, beside what else is to be.
func (p progress) tree(beside *param.Map) *param.Map {
	out := beside.Clone()
	for key, n := range map[string]int64{"retry": p.retries, "iteration": p.looks} {
		if n > 0 {
			out.Set(key, n)
		}
	}
	return out
}

// under is a state with a value under a key.
func under(state *param.Map, key string, v param.Value) *param.Map {
	next := state.Clone()
	next.Set(key, v)
	return next
}
