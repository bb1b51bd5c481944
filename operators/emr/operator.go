// Package emr implements `emr>`: it runs steps on a cluster of Amazon EMR, existing or started for the task, or a job
// on an application of EMR Serverless, and waits for the work to finish. Any agent may run it. It must start one
// cluster or one list of steps per attempt at a task, although the API has no token for that, and hold no thread while
// it waits.
package emr

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `emr>`.
func Operator() operators.Operator {
	return aws.Opened(operators.Operator{Name: "emr", Summary: "runs steps on Amazon EMR, or a job on EMR Serverless", Retries: true}, open, work.run, work.stop)
}

// work is the remote work of a task.
type work interface {
	run(context.Context) (operators.Result, error)
	// stop ends it after a kill, even if its start never got a response.
	stop(context.Context) error
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (work, error) {
	p, err := aws.Params(t, "emr")
	if err != nil {
		return nil, err
	}
	s := source{task: t, params: p, tag: tag(t)}
	if p.Has("application") {
		if p.Has("cluster") || p.Has("steps") {
			return nil, param.Errorf("emr>: 'application' is for EMR Serverless and can't be combined with 'cluster' or 'steps'")
		}
		return openServerless(ctx, account, s)
	}
	return openSteps(ctx, account, s)
}

// tag returns 13 characters, as in Digdag, that occur in the names of everything that this try of the task creates.
func tag(t *operators.Task) string {
	return strings.ToUpper(strings.ReplaceAll(operators.Derived("emr", aws.Name(t)), "-", ""))[:13]
}

// onlyRefused returns a retryer for starts that EMR was too busy to accept, but not for starts that may have created
// something.
func onlyRefused() sdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 6
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: map[string]struct{}{
			"ThrottlingException": {}, "TooManyRequestsException": {}, "RequestLimitExceeded": {}}}}
	})
}

// How long to wait.
const (
	shortestBoot = 30 * time.Second // for a cluster
	shortestWait = 15 * time.Second // for a step or a job
	longestWait  = 5 * time.Minute
	settling     = 30 * time.Second // before looking for the result of a start without a response
)

// mostOutages is how many starts that got no response and created nothing are tolerated.
const mostOutages = 10

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// optional returns nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// config returns the credentials, region and endpoint for one of the services that the task needs. The literal keys
// `emr.region`, `s3.endpoint` ... are Digdag's.
func (s source) config(ctx context.Context, account *aws.Account, service string) (sdk.Config, bool, error) {
	region, err := s.params.StringOr(service+".region", "")
	if err != nil {
		return sdk.Config{}, false, err
	}
	endpoint, err := s.params.StringOr(service+".endpoint", "")
	if err != nil {
		return sdk.Config{}, false, err
	}
	c, err := account.Config(ctx, s.task, s.params.Defaulted(places("emr", s.params)), "emr")
	if err != nil || service == "emr" {
		return c, false, err
	}
	return s.other(c, service, region, endpoint)
}

// places returns region and endpoint under the keys that all AWS operators share.
func places(service string, p *operators.Params) *param.Map {
	m := param.New()
	for _, key := range []string{"region", "endpoint"} {
		if v, ok := p.Get(service + "." + key); ok {
			m.Set(key, v)
		}
	}
	return m
}

// other adapts EMR's configuration to another service, with the same credentials; it reports whether that service has a
// separate address.
func (s source) other(c sdk.Config, service, region, endpoint string) (sdk.Config, bool, error) {
	secretRegion, err := s.task.OptionalSecret("aws." + service + ".region")
	if err != nil {
		return c, false, err
	}
	secretEndpoint, err := s.task.OptionalSecret("aws." + service + ".endpoint")
	if err != nil {
		return c, false, err
	}
	ownEndpoint, err := s.task.OptionalSecret("aws.emr.endpoint")
	if err != nil {
		return c, false, err
	}
	if ownEndpoint != "" || s.params.Has("endpoint") || s.params.Has("emr.endpoint") {
		c.BaseEndpoint = nil // it is only for EMR
	}
	for _, r := range []string{region, secretRegion} {
		if r != "" {
			c.Region = r
		}
	}
	for _, e := range []string{endpoint, secretEndpoint} {
		if e == "" {
			continue
		}
		if !strings.Contains(e, "://") {
			e = "https://" + e
		}
		c.BaseEndpoint = &e
	}
	return c, c.BaseEndpoint != nil, nil
}

// unanswered returns the failure of a start, or a request for another run if the start may get a response then.
func unanswered(ctx context.Context, t *operators.Task, err error, c aws.Call) error {
	outages, unreadable := aws.Job(t).IntOr("outages", 0)
	var plain *operators.Failure
	if unreadable != nil || errors.As(err, &plain) {
		return errors.Join(err, unreadable)
	}
	if ctx.Err() == nil && aws.Temporary(err) && outages < mostOutages {
		return aws.Again(t, settling, param.New("outages", outages+1))
	}
	return c.Failure(ctx, err)
}
