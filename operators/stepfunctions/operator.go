// Package stepfunctions implements `step_functions>`: it runs an execution of an AWS Step Functions state machine and
// waits for it to finish. Any agent may run it. It must start one execution per attempt at a task, however often a run
// is delivered, and hold no thread while it waits.
package stepfunctions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `step_functions>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "step_functions", Summary: "runs an AWS Step Functions state machine", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			e, err := open(ctx, account, t)
			if err != nil {
				return operators.Result{}, err
			}
			return e.run(ctx)
		},
		Clean: func(ctx context.Context, t *operators.Task) error {
			e, err := open(ctx, account, t)
			if err != nil {
				return err
			}
			return e.stop(ctx)
		}}
}

// Intervals between polls of an execution.
const (
	shortestWait = 2 * time.Second
	longestWait  = time.Minute
)

// execution is a task's execution.
type execution struct {
	task    *operators.Task
	client  *sfn.Client
	machine string // ARN
	name    string
	input   string
	store   bool
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (*execution, error) {
	p, err := aws.Params(t, "step_functions")
	if err != nil {
		return nil, err
	}
	e := &execution{task: t, name: aws.Name(t)}
	if e.machine, err = operators.Read(p, "_command", asMachine); err != nil {
		return nil, err
	}
	if e.store, err = p.BoolOr("store_output", true); err != nil {
		return nil, err
	}
	if e.input, err = operators.ReadOr(p, "input", aws.AsJSON, "{}"); err != nil {
		return nil, err
	}
	c, err := account.Config(ctx, t, p, "step_functions")
	if err != nil {
		return nil, err
	}
	c.Region = strings.Split(e.machine, ":")[3] // it exists only in its own region
	e.client = sfn.NewFromConfig(c)
	return e, nil
}

// asMachine reads the ARN of a state machine, its version or its alias.
func asMachine(key string, v param.Value) (string, error) {
	arn, err := param.AsString(key, v)
	if err != nil {
		return "", err
	}
	parts := strings.Split(arn, ":")
	if len(parts) < 7 || parts[0] != "arn" || parts[2] != "states" || parts[3] == "" || parts[5] != "stateMachine" {
		return "", param.Errorf("Illegal state machine: %s: write its ARN, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME", arn)
	}
	return arn, nil
}

// arn returns the ARN of the execution, which follows from its name.
func (e *execution) arn() string {
	parts := strings.Split(e.machine, ":")
	return strings.Join(append(parts[:5:5], "execution", parts[6], e.name), ":")
}

func (e *execution) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "step_functions", Doing: doing, Needs: needs}
}

func (e *execution) run(ctx context.Context) (operators.Result, error) {
	if !aws.Started(e.task) {
		return operators.Result{}, e.start(ctx)
	}
	job := aws.Job(e.task)
	arn, err := job.String("execution")
	if err != nil {
		return operators.Result{}, err
	}
	looks, err := job.IntOr("looks", 0)
	if err != nil {
		return operators.Result{}, err
	}
	out, err := e.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err), err == nil && running(out.Status):
		return operators.Result{}, e.lookAgain(arn, looks)
	case err != nil:
		return operators.Result{}, e.call("look up "+arn, "states:DescribeExecution").Failure(ctx, err)
	case out.Status != types.ExecutionStatusSucceeded:
		return operators.Result{}, operators.Failf("step_functions>: execution %s ended as %s%s", arn, out.Status, cause(out))
	}
	return e.result(out)
}

func running(s types.ExecutionStatus) bool {
	return s == types.ExecutionStatusRunning || s == types.ExecutionStatusPendingRedrive
}

// start starts the execution; an existing one was started by an earlier run, whose response or state was lost.
func (e *execution) start(ctx context.Context) error {
	_, err := e.client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &e.machine, Name: &e.name, Input: &e.input})
	if err != nil && aws.Code(err) != "ExecutionAlreadyExists" {
		return e.call("start "+e.machine, "states:StartExecution").Failure(ctx, err)
	}
	e.task.Log.Line(operators.Info, "StepFunctionsOperator", "Started execution "+e.arn())
	return e.lookAgain(e.arn(), 0)
}

func (e *execution) lookAgain(arn string, looks int64) error {
	return aws.Again(e.task, aws.Backoff(looks, shortestWait, longestWait), param.New("execution", arn, "looks", looks+1))
}

func cause(out *sfn.DescribeExecutionOutput) string {
	text := ""
	for _, part := range []*string{out.Error, out.Cause} {
		if part != nil && *part != "" {
			text += ": " + *part
		}
	}
	return text
}

// result stores the output, as text if it is not JSON.
func (e *execution) result(out *sfn.DescribeExecutionOutput) (operators.Result, error) {
	if !e.store || out.Output == nil {
		return operators.Result{}, nil
	}
	value, err := param.ParseJSON(*out.Output)
	if err != nil {
		value = *out.Output
	}
	last := param.New("last_output", value)
	return operators.Result{Store: param.New("step_functions", last), ResetStore: [][]string{{"step_functions", "last_output"}}}, nil
}

// stop ends the execution after a kill, even if its start never got a response.
func (e *execution) stop(ctx context.Context) error {
	arn := e.arn()
	_, err := e.client.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &arn, Error: new("Killed"),
		Cause: new(fmt.Sprintf("attempt %d of %s was killed", e.task.AttemptID, e.task.ProjectName))})
	if err == nil || aws.Code(err) == "ExecutionDoesNotExist" {
		return nil
	}
	return e.call("stop "+arn, "states:StopExecution").Failure(ctx, err)
}
