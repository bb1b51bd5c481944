package td

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// Values that a task stores between its runs.
const (
	// jobKey holds the job that is being started or runs. `_retry` removes it, so that the next try starts a new job.
	jobKey = "commandStatus"
	// openKey is the domain key of a start with an unknown outcome: the next try of `_retry` uses it again, and finds
	// the job if there is one.
	openKey = "openDomainKey"
	// doneKey is the id of the job that succeeded: no try starts it again.
	doneKey = "doneJobId"
	// infoKey holds that job's columns and record count.
	infoKey = "jobInfo"
	// previewKey marks its rows as shown, and rowKey holds the first row.
	previewKey = "preview"
	rowKey     = "lastResults"
	// resultKey counts consecutive failures to read its result.
	resultKey = "result"
)

// ended is a job that succeeded.
type ended struct {
	id   string
	info api.JobInfo
	err  error // the reason why there is no info
}

// running is what is stored about a job; the names are Digdag's.
type running struct {
	domainKey, id string
	looks, errors int64
	status        api.Status // once it has ended
}

func (w *work) running() (r running, err error) {
	p := operators.NewParams(w.State.Map(jobKey))
	if r.domainKey, err = p.StringOr("domainKey", ""); err != nil {
		return r, err
	}
	if r.id, err = p.StringOr("jobId", ""); err != nil {
		return r, err
	}
	if r.looks, err = p.IntOr("pollIteration", 0); err != nil {
		return r, err
	}
	if r.errors, err = p.IntOr("errorPollIteration", 0); err != nil {
		return r, err
	}
	status, err := p.StringOr("status", "")
	r.status = api.Status(status)
	return r, err
}

// with returns the state of the next run with this job in it.
func (r running) with(state *param.Map) *param.Map {
	m := param.New("domainKey", r.domainKey)
	if r.id != "" {
		m.Set("jobId", r.id)
	}
	if r.status != "" {
		m.Set("status", string(r.status))
	}
	for key, n := range map[string]int64{"pollIteration": r.looks, "errorPollIteration": r.errors} {
		if n > 0 {
			m.Set(key, n)
		}
	}
	next := state.Clone()
	next.Set(jobKey, m)
	return next
}

// run takes the task's job from its intent to its end, and uses its result.
func (w *work) run(ctx context.Context, j job) (operators.Result, error) {
	id, err := operators.NewParams(w.State).StringOr(doneKey, "")
	if err != nil {
		return operators.Result{}, err
	}
	if id == "" {
		if id, err = w.bring(ctx, func(key string) (string, error) { return j.start(ctx, w, key) }); err != nil {
			return operators.Result{}, err
		}
		w.State = w.State.Without(jobKey).Clone()
		w.State.Set(doneKey, id)
	}
	done := ended{id: id}
	if done.info, done.err = w.info(ctx, id); done.err != nil {
		var later *operators.Later
		if err := w.unfinished(ctx, id, done.err); errors.As(err, &later) || ctx.Err() != nil {
			return operators.Result{}, err
		}
	}
	result, err := j.finish(ctx, w, done)
	if err != nil {
		return operators.Result{}, w.unfinished(ctx, id, err)
	}
	if done.err != nil {
		w.log(operators.Warn, "Setting num_records failed. Ignoring this error: %v", done.err)
	}
	return withJob(result, id, done.info.Records), nil
}

// remember stores a result of this run for the next run, in case a later call fails.
func (w *work) remember(key string, v param.Value) {
	w.State = w.State.Without(resultKey).Clone()
	w.State.Set(key, v)
}

// info reads the task's job, once across all runs of the task.
func (w *work) info(ctx context.Context, id string) (api.JobInfo, error) {
	if known := operators.NewParams(w.State.Map(infoKey)); w.State.Has(infoKey) {
		columns, err := operators.ReadOr(known, "columns", param.AsList, nil)
		if err != nil {
			return api.JobInfo{}, err
		}
		info := api.JobInfo{}
		for _, name := range columns {
			info.Columns = append(info.Columns, param.Text(name))
		}
		info.Records, err = known.Int("records")
		return info, err
	}
	info, err := w.client.JobInfo(ctx, id)
	if err == nil {
		columns := make([]param.Value, len(info.Columns))
		for i, name := range info.Columns {
			columns[i] = name
		}
		w.remember(infoKey, param.New("columns", columns, "records", info.Records))
	}
	return info, err
}

// bring starts a job and polls it until it succeeds. Every other outcome is a task error, or a request for another run.
func (w *work) bring(ctx context.Context, start func(domainKey string) (string, error)) (string, error) {
	r, err := w.running()
	switch {
	case err != nil:
		return "", err
	case r.domainKey == "":
		// The key is stored before anything is sent: whatever happens to the run that starts the job, the next one
		// finds the same job.
		if r.domainKey, err = operators.NewParams(w.State).StringOr(openKey, ""); err != nil {
			return "", err
		}
		if r.domainKey == "" {
			r.domainKey = operators.Derived(w.IdempotencyKey(), w.SessionUUID, rand.Text())
		}
		return "", &operators.Later{State: r.with(w.State)}
	case r.id == "":
		return "", w.begin(ctx, r, start)
	}
	return r.id, w.look(ctx, r)
}

func (w *work) begin(ctx context.Context, r running, start func(domainKey string) (string, error)) error {
	id, err := start(r.domainKey)
	var refused *api.Error
	if err != nil && !errors.As(err, &refused) {
		w.State = w.State.Clone()
		w.State.Set(openKey, r.domainKey)
	}
	if err != nil {
		n := r.errors
		r.errors++
		return w.failed(ctx, "start job: domainKey="+r.domainKey, err, n, r.with(w.State))
	}
	return &operators.Later{After: w.poll.shortest, State: running{domainKey: r.domainKey, id: id}.with(w.State.Without(openKey))}
}

// look returns nil if the job succeeded.
func (w *work) look(ctx context.Context, r running) error {
	status, info := r.status, api.JobInfo{}
	var err error
	if status == "" {
		if status, err = w.client.JobStatus(ctx, r.id); err == nil && status.Over() {
			r.status, r.errors = status, 0
			w.State = r.with(w.State)
		}
	}
	if err == nil && status.Over() && status != api.Succeeded {
		info, err = w.client.JobInfo(ctx, r.id)
	}
	switch {
	case err != nil:
		n := r.errors
		r.errors++
		return w.failed(ctx, "check job status: domainKey="+r.domainKey+", jobId="+r.id, err, n, r.with(w.State))
	case !status.Over():
		after := w.poll.after(r.looks)
		r.looks, r.errors = r.looks+1, 0
		return &operators.Later{After: after, State: r.with(w.State)}
	case status == api.Succeeded:
		return nil
	case strings.TrimSpace(info.Output) == "":
		return operators.Failf("TD job %s failed with status %s", r.id, strings.ToUpper(string(status)))
	}
	return operators.Failf("%s", tail(info.Output))
}

// unfinished decides what happens to a task whose job is done but whose result cannot be used.
func (w *work) unfinished(ctx context.Context, id string, err error) error {
	n, bad := operators.NewParams(w.State.Map(resultKey)).IntOr("retry", 0)
	if bad != nil {
		return bad
	}
	next := w.State.Clone()
	next.Set(resultKey, param.New("retry", n+1))
	return w.failed(ctx, "download result of job '"+id+"'", err, n, next)
}

// withJob adds the values that every job stores.
func withJob(r operators.Result, id string, records int64) operators.Result {
	td := param.New()
	if r.Store != nil {
		td = r.Store.Map("td").Clone()
	}
	td.Set("last_job_id", id)
	td.Set("last_job", param.New("id", id, "num_records", records))
	r.Store = param.New("td", td)
	return r
}

// kill ends the job of the task. A job whose id was lost is found by its domain key.
func (w *work) kill(ctx context.Context) error {
	r, err := w.running()
	if err != nil || r.domainKey == "" {
		return err
	}
	w.anywhere = true
	if err := w.connect(); err != nil {
		return err
	}
	defer w.close()
	if err := w.killOnce(ctx, r); err != nil {
		return failure(err)
	}
	return nil
}

func (w *work) killOnce(ctx context.Context, r running) error {
	id := r.id
	if id == "" {
		known, found, err := w.client.JobByKey(ctx, r.domainKey)
		if err != nil || !found {
			return err
		}
		id = known
	}
	err := w.client.Kill(ctx, id)
	if api.Is(err, http.StatusNotFound) || api.Is(err, http.StatusConflict) {
		return nil // there is nothing left to end
	}
	return err
}
