// Package athena implements `athena>`: it runs a query on Amazon Athena and waits for it to finish. Any agent may run
// it. It must start one query per attempt at a task, however often a run is delivered, and hold no thread while it
// waits.
package athena

import (
	"context"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/athena"
	"github.com/aws/aws-sdk-go-v2/service/athena/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `athena>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "athena", Summary: "runs a query on Amazon Athena", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			q, err := open(ctx, account, t)
			if err != nil {
				return operators.Result{}, err
			}
			return q.run(ctx)
		},
		Clean: func(ctx context.Context, t *operators.Task) error {
			if !aws.Started(t) {
				return nil
			}
			q, err := open(ctx, account, t)
			if err != nil {
				return err
			}
			return q.stop(ctx)
		}}
}

// Intervals between polls of a query, and how many times starting one is retried.
const (
	shortestWait = time.Second
	longestWait  = 30 * time.Second
	patience     = 20
)

// run proceeds from the intent, which is stored before anything is started, to the query's id, and then to its end. If
// only the intent is stored, a query may have been started: its token finds it.
func (q *query) run(ctx context.Context) (operators.Result, error) {
	if !aws.Started(q.task) {
		return operators.Result{}, aws.Again(q.task, 0, param.New("looks", int64(0)))
	}
	job := aws.Job(q.task)
	id, err := job.StringOr("query", "")
	if err != nil {
		return operators.Result{}, err
	}
	looks, err := job.IntOr("looks", 0)
	if err != nil {
		return operators.Result{}, err
	}
	if id == "" {
		return operators.Result{}, q.begin(ctx, looks)
	}
	out, err := q.client.GetQueryExecution(ctx, &athena.GetQueryExecutionInput{QueryExecutionId: &id})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err), err == nil && running(out.QueryExecution.Status.State):
		return operators.Result{}, q.lookAgain(id, looks)
	case err != nil:
		return operators.Result{}, q.call("look up query "+id, "athena:GetQueryExecution").Failure(ctx, err)
	case out.QueryExecution.Status.State != types.QueryExecutionStateSucceeded:
		return operators.Result{}, operators.Failf("athena>: query %s ended as %s%s", id, out.QueryExecution.Status.State, reason(out.QueryExecution.Status))
	}
	return q.result(ctx, out.QueryExecution)
}

func running(s types.QueryExecutionState) bool {
	return s == types.QueryExecutionStateQueued || s == types.QueryExecutionStateRunning
}

func reason(s *types.QueryExecutionStatus) string {
	if text := sdk.ToString(s.StateChangeReason); text != "" {
		return ": " + text
	}
	return ""
}

// begin starts the query. If the service is busy, or its response is lost, the request is retried; because of the
// token, only one query starts.
func (q *query) begin(ctx context.Context, tries int64) error {
	id, err := q.start(ctx)
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err) && tries < patience:
		q.task.Log.Line(operators.Warn, "AthenaOperator", "Athena is not accepting queries, retrying: "+err.Error())
		return aws.Again(q.task, aws.Backoff(tries, shortestWait, longestWait), param.New("looks", tries+1))
	case err != nil && strings.Contains(err.Error(), "Idempotent parameters do not match"):
		return operators.Failf("athena>: an earlier run of this task started the query with different text or parameters, and its response was lost: " +
			"use stable values such as ${session_time} instead of the current time, and run it again")
	case err != nil:
		return q.call("start the query", "athena:StartQueryExecution").Failure(ctx, err)
	}
	q.task.Log.Line(operators.Info, "AthenaOperator", "Started query "+id)
	return q.lookAgain(id, 0)
}

func (q *query) start(ctx context.Context) (string, error) {
	out, err := q.client.StartQueryExecution(ctx, q.input)
	if err != nil {
		return "", err
	}
	return *out.QueryExecutionId, nil
}

func (q *query) lookAgain(id string, looks int64) error {
	return aws.Again(q.task, aws.Backoff(looks, shortestWait, longestWait), param.New("query", id, "looks", looks+1))
}

func (q *query) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "athena", Doing: doing, Needs: needs}
}

// stop ends the query after a kill, even if its id never arrived: starting it again returns the id.
func (q *query) stop(ctx context.Context) error {
	id, err := aws.Job(q.task).StringOr("query", "")
	if err != nil {
		return err
	}
	if id == "" {
		if id, err = q.start(ctx); err != nil {
			return q.call("look up the query", "athena:StartQueryExecution").Failure(ctx, err)
		}
	}
	_, err = q.client.StopQueryExecution(ctx, &athena.StopQueryExecutionInput{QueryExecutionId: &id})
	return q.call("stop query "+id, "athena:StopQueryExecution").Failure(ctx, err)
}
