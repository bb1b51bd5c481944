// Package batch implements `batch>`: it submits a job to AWS Batch and waits for it to finish. Any agent may run it. It
// must submit only one job per attempt at a task, although the API has no token for that, and must hold no thread while
// it waits.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `batch>`.
func Operator() operators.Operator {
	return aws.Opened(operators.Operator{Name: "batch", Summary: "runs an AWS Batch job", Retries: true}, open, (*job).run, (*job).stop)
}

// How long to wait between polls of a job, and before looking for the job of an unanswered submission: job lists lag
// slightly behind.
const (
	shortestWait = 2 * time.Second
	longestWait  = time.Minute
	settling     = 10 * time.Second
)

// Problems that are tolerated before the task fails.
const (
	mostOutages = 10 // submissions that got no response and created no job
	mostMissing = 5  // polls at which Batch did not know the job, not yet or no longer
)

// job is a task's job.
type job struct {
	task *operators.Task
	calls
	spec spec
	name string // by which it is found, different for each try

	progress
}

// progress holds the facts known about a job from one run to the next.
type progress struct {
	id      string // "" before it is submitted
	outages int64  // submissions without a response
	looks   int64
	missing int64 // consecutive polls at which Batch did not know it
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (*job, error) {
	p, err := aws.Params(t, "batch")
	if err != nil {
		return nil, err
	}
	j := &job{task: t}
	if j.spec, err = read(p); err != nil {
		return nil, err
	}
	j.name = j.spec.prefix + "-" + aws.Name(t)
	if j.progress, err = remembered(t); err != nil {
		return nil, err
	}
	c, err := account.Config(ctx, t, p, "batch")
	if err != nil {
		return nil, err
	}
	c.Region = aws.RegionOf(j.spec.definition, 6, c.Region)
	client := batch.NewFromConfig(c)
	j.calls = calls{describeJobs: client.DescribeJobs, submitJob: client.SubmitJob, listJobs: client.ListJobs, terminateJob: client.TerminateJob}
	return j, nil
}

func remembered(t *operators.Task) (progress, error) {
	p := aws.Job(t)
	var g progress
	var err error
	if g.id, err = p.StringOr("job", ""); err != nil {
		return g, err
	}
	for key, to := range map[string]*int64{"outages": &g.outages, "looks": &g.looks, "missing": &g.missing} {
		if *to, err = p.IntOr(key, 0); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (j *job) again(after time.Duration) error {
	return aws.Again(j.task, after, param.New("job", j.id, "outages", j.outages, "looks", j.looks, "missing", j.missing))
}

func (j *job) lookAgain() error {
	j.looks++
	return j.again(aws.Backoff(j.looks-1, shortestWait, longestWait))
}

func (j *job) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "batch", Doing: doing, Needs: needs}
}

func (j *job) run(ctx context.Context) (operators.Result, error) {
	if j.id == "" {
		return operators.Result{}, j.submit(ctx)
	}
	if j.looks == 1 {
		if err := j.keepOne(ctx); err != nil {
			return operators.Result{}, err
		}
	}
	out, err := j.describeJobs(ctx, &batch.DescribeJobsInput{Jobs: []string{j.id}})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err):
		return operators.Result{}, j.lookAgain()
	case err != nil:
		return operators.Result{}, j.call("look up job "+j.id, "batch:DescribeJobs").Failure(ctx, err)
	case len(out.Jobs) == 0:
		if j.missing++; j.missing > mostMissing {
			return operators.Result{}, operators.Failf("batch>: AWS Batch no longer knows job %s: it ended days ago, so its outcome is unknown", j.id)
		}
		return operators.Result{}, j.lookAgain()
	}
	j.missing = 0
	switch found := out.Jobs[0]; found.Status {
	case types.JobStatusSucceeded:
		return j.result(found), nil
	case types.JobStatusFailed:
		return operators.Result{}, j.failure(found)
	}
	return operators.Result{}, j.lookAgain()
}

// submit submits the job unless one with its name exists, which an earlier run submitted before its response or state
// was lost. After a submission without a response, it looks for the job before it submits again.
func (j *job) submit(ctx context.Context) error {
	list, err := j.find(ctx)
	switch {
	case err != nil:
		return j.unanswered(ctx, err, j.call("list the jobs of "+j.spec.queue, "batch:ListJobs"))
	case len(list) > 0:
		return j.submitted(*list[0].JobId)
	}
	out, err := j.submitJob(ctx, j.spec.input(j.name), func(o *batch.Options) { o.Retryer = onlyRefused() })
	if err != nil {
		return j.unanswered(ctx, err, j.call("submit "+j.spec.definition+" to "+j.spec.queue, "batch:SubmitJob on both"))
	}
	return j.submitted(*out.JobId)
}

func (j *job) submitted(id string) error {
	j.id = id
	j.task.Log.Line(operators.Info, "BatchOperator", "Submitted job "+id+" as "+j.name)
	return j.lookAgain()
}

// unanswered requests another run if the call may get a response then.
func (j *job) unanswered(ctx context.Context, err error, c aws.Call) error {
	if ctx.Err() == nil && aws.Temporary(err) && j.outages < mostOutages {
		j.outages++
		return j.again(settling)
	}
	return c.Failure(ctx, err)
}

// onlyRefused returns a retryer for submissions that Batch was too busy to accept, but not for submissions that may
// have created a job.
func onlyRefused() sdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 6
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: map[string]struct{}{
			"TooManyRequestsException": {}, "ThrottlingException": {}, "RequestLimitExceeded": {}}}}
	})
}

// calls holds the Batch operations that tasks need.
type calls struct {
	describeJobs aws.Operation[batch.DescribeJobsInput, batch.DescribeJobsOutput, batch.Options]
	submitJob    aws.Operation[batch.SubmitJobInput, batch.SubmitJobOutput, batch.Options]
	listJobs     jobsOf
	terminateJob aws.Operation[batch.TerminateJobInput, batch.TerminateJobOutput, batch.Options]
}

// jobsOf adapts the operation to the SDK's paginator.
type jobsOf aws.Operation[batch.ListJobsInput, batch.ListJobsOutput, batch.Options]

func (call jobsOf) ListJobs(ctx context.Context, in *batch.ListJobsInput, options ...func(*batch.Options)) (*batch.ListJobsOutput, error) {
	return call(ctx, in, options...)
}

// find lists the jobs of this try, earliest first.
func (j *job) find(ctx context.Context) ([]types.JobSummary, error) {
	in := &batch.ListJobsInput{JobQueue: &j.spec.queue, Filters: []types.KeyValuesPair{{Name: new("JOB_NAME"), Values: []string{j.name}}}}
	var list []types.JobSummary
	for pages := batch.NewListJobsPaginator(j.listJobs, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, page.JobSummaryList...)
	}
	// The jobs of an array, "ID:0" and so on, are parts of the submitted job.
	list = slices.DeleteFunc(list, func(s types.JobSummary) bool { return strings.Contains(deref(s.JobId), ":") })
	slices.SortFunc(list, func(a, b types.JobSummary) int {
		return cmp.Or(cmp.Compare(deref(a.CreatedAt), deref(b.CreatedAt)), cmp.Compare(deref(a.JobId), deref(b.JobId)))
	})
	return list, nil
}

// keepOne ends all jobs of this try but the first, in case two concurrent runs found none and submitted one each.
func (j *job) keepOne(ctx context.Context) error {
	list, err := j.find(ctx)
	if err != nil || len(list) < 2 {
		return nil //nolint:nilerr // it is a precaution: only the job matters
	}
	j.id = *list[0].JobId
	for _, other := range list[1:] {
		if err := j.terminate(ctx, *other.JobId, "duplicate of an earlier job"); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the job after a kill, even if its submission never got a response.
func (j *job) stop(ctx context.Context) error {
	list, err := j.find(ctx)
	if err != nil && j.id == "" {
		return j.call("list the jobs of "+j.spec.queue, "batch:ListJobs").Failure(ctx, err)
	}
	ids := []string{}
	if j.id != "" {
		ids = append(ids, j.id)
	}
	for _, one := range list {
		if *one.JobId != j.id {
			ids = append(ids, *one.JobId)
		}
	}
	var failed error
	for _, id := range ids {
		failed = errors.Join(failed, j.terminate(ctx, id, fmt.Sprintf("attempt %d of %s was killed", j.task.AttemptID, j.task.ProjectName)))
	}
	return failed
}

func (j *job) terminate(ctx context.Context, id, why string) error {
	_, err := j.terminateJob(ctx, &batch.TerminateJobInput{JobId: &id, Reason: &why})
	if err != nil {
		return j.call("terminate job "+id, "batch:TerminateJob").Failure(ctx, err)
	}
	return nil
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
