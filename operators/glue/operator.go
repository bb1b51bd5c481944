// Package glue implements `glue>`: it runs an AWS Glue job or crawler and waits for it to finish. Any agent may run
// it. It must start one run per attempt at a task, however often a run is delivered, and hold no thread while it waits.
//
// Glue has no client tokens, so the intent to start is stored first. A job run carries the task's key among its
// arguments, so that a later run of the task finds it; for a crawler, the task stores which crawl was the last one
// before its own.
package glue

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/glue"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `glue>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "glue", Summary: "runs an AWS Glue job or crawler", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := open(ctx, account, t)
			if err != nil {
				return operators.Result{}, err
			}
			return w.run(ctx)
		},
		Clean: func(ctx context.Context, t *operators.Task) error {
			if !aws.Started(t) {
				return nil
			}
			w, err := open(ctx, account, t)
			if err != nil {
				return err
			}
			return w.stop(ctx)
		}}
}

// Intervals between polls of a run, and how many times an unresponsive service is asked to start one. A new run is in
// the list of runs by the time the first poll is due.
const (
	shortestWait = 5 * time.Second
	longestWait  = time.Minute
	patience     = 20
)

// work is a job or a crawler.
type work interface {
	run(ctx context.Context) (operators.Result, error)
	stop(ctx context.Context) error
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (work, error) {
	p, err := params(t)
	if err != nil {
		return nil, err
	}
	name, err := p.StringOr("crawler", "")
	if err != nil {
		return nil, err
	}
	s := service{task: t}
	switch {
	case name != "" && p.Has("_command"):
		return nil, param.Errorf("glue> runs either a job (its command) or a 'crawler', not both")
	case name != "":
		if err := s.connect(ctx, account, p); err != nil {
			return nil, err
		}
		return &crawler{s, name}, nil
	}
	j := &job{}
	if j.input, err = jobInput(t, p); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, account, p); err != nil {
		return nil, err
	}
	j.service = s
	return j, nil
}

// params applies the defaults from `glue: {...}`, then those from `aws: {glue: {...}}`.
func params(t *operators.Task) (*operators.Params, error) {
	own, err := operators.ReadOr(t.Params, "glue", param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	with := *t
	with.Params = t.Params.Defaulted(own.Without("last_run", "last_crawl")) // these are not defaults
	return aws.Params(&with, "glue")
}

// service is Glue as a task sees it.
type service struct {
	task *operators.Task
	calls
}

// calls holds the Glue operations that tasks need.
type calls struct {
	getCrawler      aws.Operation[glue.GetCrawlerInput, glue.GetCrawlerOutput, glue.Options]
	startCrawler    aws.Operation[glue.StartCrawlerInput, glue.StartCrawlerOutput, glue.Options]
	stopCrawler     aws.Operation[glue.StopCrawlerInput, glue.StopCrawlerOutput, glue.Options]
	getJobRun       aws.Operation[glue.GetJobRunInput, glue.GetJobRunOutput, glue.Options]
	startJobRun     aws.Operation[glue.StartJobRunInput, glue.StartJobRunOutput, glue.Options]
	getJobRuns      runsOf
	batchStopJobRun aws.Operation[glue.BatchStopJobRunInput, glue.BatchStopJobRunOutput, glue.Options]
}

func (s *service) connect(ctx context.Context, account *aws.Account, p *operators.Params) error {
	c, err := account.Config(ctx, s.task, p, "glue")
	if err != nil {
		return err
	}
	client := glue.NewFromConfig(c)
	s.calls = calls{getCrawler: client.GetCrawler, startCrawler: client.StartCrawler, stopCrawler: client.StopCrawler,
		getJobRun: client.GetJobRun, startJobRun: client.StartJobRun, getJobRuns: client.GetJobRuns, batchStopJobRun: client.BatchStopJobRun}
	return nil
}

func (s *service) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "glue", Doing: doing, Needs: needs}
}

func (s *service) log(level operators.Level, text string) {
	s.task.Log.Line(level, "GlueOperator", text)
}

// onlyRefused allows retries of requests that Glue was too busy to accept, but not of requests that may have started a
// run.
func onlyRefused(o *glue.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 4
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: map[string]struct{}{"ThrottlingException": {}}}}
	})
}

// full reports whether Glue currently has no capacity for a run.
func full(err error) bool {
	return slices.Contains([]string{"ConcurrentRunsExceededException", "ResourceNumberLimitExceededException"}, aws.Code(err))
}

// notStarted handles a failed start: it may be retried after checking for existing runs.
func (s *service) notStarted(ctx context.Context, err error, tries int64, intent *param.Map) (bool, error) {
	next := intent.Clone()
	switch {
	case ctx.Err() != nil:
		return false, nil //nolint:nilerr // the caller returns the error that it gave
	case full(err):
		s.log(operators.Info, "Waiting for other runs to end: "+aws.Code(err))
		next.Set("tries", min(tries+1, 4)) // waiting for capacity may take any amount of time
	case tries < patience && (aws.Temporary(err) || aws.Code(err) == "OperationTimeoutException"):
		s.log(operators.Warn, "Glue is not responding, retrying: "+err.Error())
		next.Set("tries", tries+1)
	default:
		return false, nil
	}
	return true, aws.Again(s.task, aws.Backoff(tries, shortestWait, longestWait), next)
}
