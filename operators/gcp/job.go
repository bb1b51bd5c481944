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

// jobLogger is the name under which messages about a job appear in the task's log.
const jobLogger = "BqJobRunner"

// ofJob returns an operator that runs one BigQuery job.
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
				return nil // nothing was started, so there is nothing to stop
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

// Values that a task stores between its runs.
const (
	// jobKey holds the job of a try. `_retry` removes it, so that the next try starts a new job.
	jobKey = "commandStatus"
	// openKey holds the job of a failed try if its outcome is unknown: the next try takes it over, since it may still run.
	openKey = "openJob"
)

// job is the job of one task try.
type job struct {
	*work
	progress
	id       string // "" before it is chosen
	started  bool   // BigQuery has it
	location string // where it runs; "" if unknown
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

// state returns the state of the next run.
func (j *job) state() *param.Map {
	return under(j.State.Without(openKey), jobKey, j.progress.tree(j.remembered()))
}

// remembered returns what is known about the job.
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

// again requests another run after a failed call, if that may help. Otherwise the try fails, and the job stays open
// unless BigQuery's first response rejected it.
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

// name returns the job's readable name.
func (j *job) name() string { return j.project + ":" + j.id }

// run takes the job from its intent to its end.
func (j *job) run(ctx context.Context, configuration *param.Map) (operators.Result, error) {
	if j.id == "" {
		// The id is stored before anything is sent: whatever happens to the run that starts the job, the next one
		// requests the same job.
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
			// The location is stored before the first poll: without it, the job could not be found and canceled.
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

// start starts the job. A job that BigQuery already has counts as started.
func (j *job) start(ctx context.Context, configuration *param.Map) error {
	j.log(operators.Info, "Submitting BigQuery job: %s", j.name())
	reference := param.New("projectId", j.project, "jobId", j.id)
	if j.location != "" {
		reference.Set("location", j.location)
	}
	known, err := j.client.InsertJob(ctx, j.project, param.New("jobReference", reference, "configuration", configuration))
	var unread *api.Unreadable
	if errors.As(err, &unread) && j.retries >= unreadable {
		return nil // BigQuery has it, although its response cannot be read
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

// foundAnywhere reports whether BigQuery searches a location without being asked to.
func foundAnywhere(location string) bool {
	return strings.EqualFold(location, "US") || strings.EqualFold(location, "EU")
}

// locationIn finds a job's location in BigQuery's message about an existing job: project:location.id. It returns "" if
// the message has a different form.
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

// end returns the task's outcome when its job has ended.
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

// why returns the reason for a failure, formatted as the end of a sentence.
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

// mostErrors limits the error text of a task, in bytes: a load may have an error for each of its files.
const mostErrors = 64 << 10

func bounded(text string) string {
	if len(text) <= mostErrors {
		return text
	}
	return strings.ToValidUTF8(text[:mostErrors], "") + "…"
}

// pretty formats an error as Digdag does: JSON with a line for each key.
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

// Limits on a job id, in bytes.
const (
	mostJobID = 1024
	mostName  = 256
)

// newJobID returns a job id in Digdag's form. It names the task that started the job, and is unique for each try.
func newJobID(t *operators.Task) string {
	prefix := fmt.Sprintf("digdag_s%d_p_%s_w_%s_t_%d_a_%d", t.SiteID, inJobID(t.ProjectName), inJobID(t.Workflow), t.TaskID, t.AttemptID)
	suffix := "_" + operators.Derived(t.IdempotencyKey(), t.SessionUUID, rand.Text())
	return prefix[:min(len(prefix), mostJobID-len(suffix))] + suffix
}

// inJobID replaces with underscores the characters that BigQuery does not allow in an id.
func inJobID(name string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return id[:min(len(id), mostName)]
}

// cancelPauses returns the pauses between cancellation attempts. There are several attempts because a kill is not
// repeated.
func cancelPauses() []time.Duration {
	return []time.Duration{500 * time.Millisecond, time.Second, 0}
}

// cancel ends the job of a killed task, even if BigQuery never acknowledged its start.
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
				j.log(operators.Warn, "BigQuery has no job %s in the US or the EU. If it was started in a different location, it keeps running: find it in the console, or set `location`", j.name())
			}
			return nil
		case pause == 0 || !api.Temporary(err) || !sleep(ctx, pause):
			return failure("BigQuery job cancellation failed: "+j.name(), err)
		}
	}
	return nil
}

// sleep returns false if ctx ended first.
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
