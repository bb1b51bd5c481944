package gcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/gcp/api"
)

// jobLogger is who says in the task's log what becomes of a job.
const jobLogger = "BqJobRunner"

// ofJob makes an operator whose work is one job of BigQuery.
func ofJob(name, summary string, read readConfiguration) operators.Operator {
	return operators.Operator{Name: name, Summary: summary, Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := newWork(t, "bq", scopeBigQuery, jobLogger)
			if err != nil {
				return operators.Result{}, err
			}
			configuration, err := read(w)
			if err != nil {
				return operators.Result{}, err
			}
			j, err := w.job()
			if err != nil {
				return operators.Result{}, err
			}
			return j.run(ctx, configuration)
		},
		Clean: func(ctx context.Context, t *operators.Task) error {
			if !t.State.Has(jobKey) && !t.State.Has(openKey) {
				return nil // nothing was started, so nobody needs to be asked
			}
			w, err := newWork(t, "bq", scopeBigQuery, jobLogger)
			if err != nil {
				return err
			}
			j, err := w.job()
			if err != nil {
				return err
			}
			return j.cancel(ctx)
		},
	}
}

// What a task remembers between its runs.
const (
	// jobKey is the job of a try. It is the key that `_retry` forgets, so that the next try starts a
	// job of its own.
	jobKey = "commandStatus"
	// openKey is a job of which nobody knows what became of it when its try failed: the next one takes
	// it over, as it may run still.
	openKey = "openJob"
)

// job is the one of a try of a task.
type job struct {
	*work
	progress
	id       string // "" before it is decided
	started  bool   // BigQuery has it
	location string // where it runs; "" where that is not known
}

func (w *work) job() (j *job, err error) {
	j = &job{work: w}
	known := w.State.Map(jobKey)
	if known == nil {
		known = w.State.Map(openKey)
	}
	if j.progress, err = readProgress(known); err != nil {
		return nil, err
	}
	if j.id, err = j.of.StringOr("jobId", ""); err != nil {
		return nil, err
	}
	if j.started, err = j.of.BoolOr("started", false); err != nil {
		return nil, err
	}
	given, err := w.params.StringOr("location", "")
	if err != nil {
		return nil, err
	}
	j.location, err = j.of.StringOr("location", given)
	return j, err
}

// state is that of the next run.
func (j *job) state() *param.Map {
	return under(j.State.Without(openKey), jobKey, j.progress.tree(j.remembered()))
}

// remembered is what is known of the job.
func (j *job) remembered() *param.Map {
	beside := param.New("jobId", j.id)
	if j.started {
		beside.Set("started", true)
	}
	if j.location != "" {
		beside.Set("location", j.location)
	}
	return beside
}

// again asks for another run after a call that failed, if that may help. Else the try fails; then
// the job stays open, unless the first answer about it was that BigQuery does not take it.
func (j *job) again(ctx context.Context, doing string, err error) error {
	n := j.retries
	j.retries++
	outcome := j.failed(ctx, doing+": "+j.name(), err, n, j.state())
	var later *operators.Later
	var refused *api.Error
	if !errors.As(outcome, &later) && ctx.Err() == nil && (j.started || n > 0 || !errors.As(err, &refused)) {
		j.State = under(j.State, openKey, j.remembered())
	}
	return outcome
}

// name is the job's as people read it.
func (j *job) name() string { return j.project + ":" + j.id }

// run brings the job from its intent to its end.
func (j *job) run(ctx context.Context, configuration *param.Map) (operators.Result, error) {
	if j.id == "" {
		// It is kept before anything is sent: whatever becomes of the run that starts the job,
		// the next one asks for the same.
		j.id = newJobID(j.Task)
		return operators.Result{}, &operators.Later{State: j.state()}
	}
	if !j.started {
		before := j.location
		if err := j.start(ctx, configuration); err != nil {
			return operators.Result{}, j.again(ctx, "BigQuery job submission failed", err)
		}
		j.started, j.retries = true, 0
		if j.location != before && !foundAnywhere(j.location) {
			// It is kept before the first look: without it nobody could find the job to cancel it.
			return operators.Result{}, &operators.Later{State: j.state()}
		}
	}
	j.log(operators.Info, "Checking BigQuery job status: %s", j.name())
	now, err := j.client.Job(ctx, j.project, j.id, j.location)
	if err != nil {
		return operators.Result{}, j.again(ctx, "BigQuery job status check failed", err)
	}
	j.retries = 0
	status := now.Map("status")
	switch state, _ := status.Get("state"); state {
	case "DONE":
		return j.end(now, status)
	case "PENDING", "RUNNING":
		after := nextLook(j.looks)
		j.looks++
		j.log(operators.Debug, "BigQuery job still running: %s: checking again in %ds", j.id, after/time.Second)
		return operators.Result{}, &operators.Later{After: after, State: j.state()}
	default:
		return operators.Result{}, operators.Failf("Unknown job state: %s: %s", j.name(), param.Text(state))
	}
}

// start makes BigQuery run the job. That it has the job already is as good as a start.
func (j *job) start(ctx context.Context, configuration *param.Map) error {
	j.log(operators.Info, "Submitting BigQuery job: %s", j.name())
	reference := param.New("projectId", j.project, "jobId", j.id)
	if j.location != "" {
		reference.Set("location", j.location)
	}
	known, err := j.client.InsertJob(ctx, j.project, param.New("jobReference", reference, "configuration", configuration))
	var unread *api.Unreadable
	if errors.As(err, &unread) && j.retries >= unreadable {
		return nil // BigQuery has it, though it never says so in words that arrive
	}
	if api.Is(err, http.StatusConflict) {
		j.log(operators.Debug, "BigQuery job already started: %s", j.name())
		if j.location == "" {
			j.location = locationIn(err.Error(), j.id)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if j.location == "" {
		where, _ := known.Map("jobReference").Get("location")
		j.location, _ = where.(string)
	}
	return nil
}

// foundAnywhere says of a place that BigQuery looks for jobs there without being told.
func foundAnywhere(location string) bool {
	return strings.EqualFold(location, "US") || strings.EqualFold(location, "EU")
}

// locationIn finds where a job runs in what BigQuery says of one that it has: project:location.id.
// It is "" where it says that in other words.
func locationIn(text, id string) string {
	before, _, found := strings.Cut(text, "."+id)
	if !found {
		return ""
	}
	where := before[strings.LastIndexAny(before, ": ")+1:]
	if strings.ContainsFunc(where, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	}) {
		return ""
	}
	return where
}

// end is what becomes of the task when its job is over.
func (j *job) end(now, status *param.Map) (operators.Result, error) {
	j.State = j.State.Without(openKey)
	if failed := status.Map("errorResult"); failed != nil {
		j.log(operators.Error, "BigQuery job failed: %s", j.name())
		var texts []string
		all, _ := status.Get("errors")
		list, _ := all.([]param.Value)
		if len(list) == 0 {
			list = []param.Value{failed}
		}
		for _, e := range list {
			texts = append(texts, pretty(e))
			j.log(operators.Error, "%s", texts[len(texts)-1])
		}
		return operators.Result{}, &operators.Failure{Message: "BigQuery job failed: " + j.name() + bounded(why(failed)),
			Properties: param.New("errors", bounded(strings.Join(texts, ", ")))}
	}
	j.log(operators.Info, "BigQuery job successfully done: %s", j.name())
	id, _ := now.Get("id")
	return operators.Result{Store: param.New("bq", param.New("last_job_id", id, "last_jobid", id)),
		ResetStore: [][]string{{"bq", "last_job_id"}, {"bq", "last_jobid"}}}, nil
}

// why is the reason of a failure as the end of a sentence.
func why(failed *param.Map) string {
	text := ""
	if message, _ := failed.Get("message"); message != nil && message != "" {
		text = fmt.Sprintf(": %v", message)
	}
	if reason, _ := failed.Get("reason"); reason != nil && reason != "" {
		text += fmt.Sprintf(" [%v]", reason)
	}
	return text
}

// mostErrors bounds what a task fails with, in bytes: a load may have an error for each of its files.
const mostErrors = 64 << 10

func bounded(text string) string {
	if len(text) <= mostErrors {
		return text
	}
	return strings.ToValidUTF8(text[:mostErrors], "") + "…"
}

// pretty is an error as the original shows it: JSON with a line for each key.
func pretty(v param.Value) string {
	m, isMap := v.(*param.Map)
	if !isMap || m.Len() == 0 {
		return param.Text(v)
	}
	keys := slices.Sorted(slices.Values(m.Keys()))
	for i, key := range keys {
		v, _ := m.Get(key)
		keys[i] = "  " + param.Text(key) + " : " + param.Text(v)
	}
	return "{\n" + strings.Join(keys, ",\n") + "\n}"
}

// Bounds of an id of a job, in bytes.
const (
	mostJobID = 1024
	mostName  = 256
)

// newJobID names a job in the form of the original. It tells by whom the job was started, and is
// of no other try.
func newJobID(t *operators.Task) string {
	prefix := fmt.Sprintf("digdag_s%d_p_%s_w_%s_t_%d_a_%d", t.SiteID, inJobID(t.ProjectName), inJobID(t.Workflow), t.TaskID, t.AttemptID)
	suffix := "_" + operators.Derived(t.IdempotencyKey(), t.SessionUUID, rand.Text())
	return prefix[:min(len(prefix), mostJobID-len(suffix))] + suffix
}

// inJobID is a name with an underscore for what BigQuery does not take in an id.
func inJobID(name string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return id[:min(len(id), mostName)]
}

// How often, and after which pauses, it is tried to end a job: a kill does not come again.
func cancelPauses() []time.Duration {
	return []time.Duration{500 * time.Millisecond, time.Second, 0}
}

// cancel ends the job of a task that was killed, also one whose start nobody heard of.
func (j *job) cancel(ctx context.Context) error {
	if j.id == "" {
		return nil
	}
	for _, pause := range cancelPauses() {
		err := j.client.CancelJob(ctx, j.project, j.id, j.location)
		switch {
		case err == nil:
			return nil
		case api.Is(err, http.StatusNotFound) && !j.started:
			if j.location == "" {
				j.log(operators.Warn, "BigQuery has no job %s in the US or the EU. If it was started elsewhere it goes on: look for it in the console; with `location` it is found", j.name())
			}
			return nil
		case pause == 0 || !api.Temporary(err) || !sleep(ctx, pause):
			return failure("BigQuery job cancellation failed: "+j.name(), err)
		}
	}
	return nil
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
