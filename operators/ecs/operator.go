// Package ecs implements `ecs>`: it runs a task of any task definition on Amazon ECS and waits for it to finish. Any
// agent may run it. It must run one ECS task per attempt at a task, however often a run is delivered, and hold no
// thread while it waits.
package ecs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `ecs>`.
func Operator() operators.Operator {
	return aws.Opened(operators.Operator{Name: "ecs", Summary: "runs a task of Amazon ECS", Retries: true}, open, (*job).run, (*job).stop)
}

// How long to wait between polls of a task, and before another attempt to start it.
const (
	shortestWait = 2 * time.Second
	longestWait  = 30 * time.Second
	shortestIdle = 5 * time.Second
	longestIdle  = time.Minute
)

// Problems that are tolerated before the task fails.
const (
	mostOutages = 10 // runs whose start got no response, even after several retries
	mostMissing = 5  // polls at which ECS did not know the task, not yet or no longer
)

// job is a task's ECS task.
type job struct {
	task *operators.Task
	calls
	spec spec
	name string // by which it is found

	progress
}

// calls holds the ECS operations that tasks need.
type calls struct {
	describeTasks          aws.Operation[ecs.DescribeTasksInput, ecs.DescribeTasksOutput, ecs.Options]
	runTask                aws.Operation[ecs.RunTaskInput, ecs.RunTaskOutput, ecs.Options]
	listTasks              aws.Operation[ecs.ListTasksInput, ecs.ListTasksOutput, ecs.Options]
	stopTask               aws.Operation[ecs.StopTaskInput, ecs.StopTaskOutput, ecs.Options]
	describeTaskDefinition aws.Operation[ecs.DescribeTaskDefinitionInput, ecs.DescribeTaskDefinitionOutput, ecs.Options]
}

// progress holds the facts known about a job from one run to the next.
type progress struct {
	arn       string // "" before it is started
	container string // whose exit code counts
	log       string // where its output is, "" if unknown
	refused   int64  // starts that failed for lack of capacity
	outages   int64  // starts without a response
	looks     int64
	missing   int64 // consecutive polls at which ECS did not know it
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (*job, error) {
	p, err := aws.Params(t, "ecs")
	if err != nil {
		return nil, err
	}
	j := &job{task: t, name: aws.Name(t)}
	if j.spec, err = read(p); err != nil {
		return nil, err
	}
	if j.progress, err = remembered(t); err != nil {
		return nil, err
	}
	c, err := account.Config(ctx, t, p, "ecs")
	if err != nil {
		return nil, err
	}
	c.Region = aws.RegionOf(j.spec.definition, 6, c.Region)
	client := ecs.NewFromConfig(c)
	j.calls = calls{describeTasks: client.DescribeTasks, runTask: client.RunTask, listTasks: client.ListTasks,
		stopTask: client.StopTask, describeTaskDefinition: client.DescribeTaskDefinition}
	return j, nil
}

func remembered(t *operators.Task) (progress, error) {
	p := aws.Job(t)
	var g progress
	var err error
	for key, to := range map[string]*string{"task": &g.arn, "container": &g.container, "log": &g.log} {
		if *to, err = p.StringOr(key, ""); err != nil {
			return g, err
		}
	}
	for key, to := range map[string]*int64{"refused": &g.refused, "outages": &g.outages, "looks": &g.looks, "missing": &g.missing} {
		if *to, err = p.IntOr(key, 0); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (j *job) again(after time.Duration) error {
	return aws.Again(j.task, after, param.New("task", j.arn, "container", j.container, "log", j.log,
		"refused", j.refused, "outages", j.outages, "looks", j.looks, "missing", j.missing))
}

func (j *job) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "ecs", Doing: doing, Needs: needs}
}

func (j *job) run(ctx context.Context) (operators.Result, error) {
	if j.arn == "" {
		return operators.Result{}, j.start(ctx)
	}
	out, err := j.describeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &j.spec.cluster, Tasks: []string{j.arn}})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err):
		return operators.Result{}, j.lookAgain()
	case err != nil:
		return operators.Result{}, j.call("look up "+j.arn, "ecs:DescribeTasks").Failure(ctx, err)
	case len(out.Tasks) == 0:
		return operators.Result{}, j.unknown()
	}
	j.missing = 0
	found := out.Tasks[0]
	if sdk.ToString(found.LastStatus) != "STOPPED" {
		return operators.Result{}, j.lookAgain()
	}
	if noCapacity(sdk.ToString(found.StoppedReason)) && found.StartedAt == nil {
		return operators.Result{}, j.refuse(*found.StoppedReason)
	}
	return j.result(found)
}

func (j *job) lookAgain() error {
	j.looks++
	return j.again(aws.Backoff(j.looks-1, shortestWait, longestWait))
}

// unknown handles a task that ECS does not list: a task appears in the list a moment after it was started, and
// disappears an hour after its end.
func (j *job) unknown() error {
	if j.missing++; j.missing > mostMissing {
		return operators.Failf("ecs>: Amazon ECS no longer knows task %s: it ended more than an hour ago, so its outcome is unknown", j.arn)
	}
	return j.lookAgain()
}

// start runs the task. Because of the client token, ECS responds to a repeated start with the first start's task. A
// start that failed for lack of capacity has created no task, so the next start uses a different token.
func (j *job) start(ctx context.Context) error {
	if err := j.define(ctx); err != nil {
		return j.unanswered(ctx, err, j.call("look up "+j.spec.definition, "ecs:DescribeTaskDefinition"))
	}
	token := fmt.Sprintf("%s-%d", j.name, j.refused)
	out, err := j.runTask(ctx, j.spec.input(j.container, j.name, token))
	var conflict *types.ConflictException
	switch {
	case errors.As(err, &conflict) && len(conflict.ResourceIds) > 0:
		// The parameters now evaluate to something different: use the task of the first start.
		return j.started(conflict.ResourceIds[0])
	case err != nil && ctx.Err() == nil && noCapacity(err.Error()):
		return j.refuse(err.Error())
	case err != nil:
		return j.unanswered(ctx, err, j.call("run "+j.spec.definition, "ecs:RunTask on it, and iam:PassRole on its roles"))
	case len(out.Tasks) > 0:
		return j.started(*out.Tasks[0].TaskArn)
	case len(out.Failures) == 0:
		return operators.Failf("ecs>: can't run %s: Amazon ECS started no task and gave no reason", j.spec.definition)
	}
	f := out.Failures[0]
	why := strings.TrimSuffix(sdk.ToString(f.Reason)+": "+sdk.ToString(f.Detail), ": ")
	if noCapacity(sdk.ToString(f.Reason)) {
		return j.refuse(why)
	}
	return operators.Failf("ecs>: can't run %s: %s%s", j.spec.definition, why, remedy(sdk.ToString(f.Reason)))
}

// unanswered requests another run if the call may get a response then: nothing was started that could be started twice.
func (j *job) unanswered(ctx context.Context, err error, c aws.Call) error {
	var plain *operators.Failure
	switch {
	case errors.As(err, &plain): // already describes the problem
		return err
	case ctx.Err() == nil && aws.Temporary(err) && j.outages < mostOutages:
		j.outages++
		return j.again(aws.Backoff(j.outages-1, shortestIdle, longestIdle))
	}
	return c.Failure(ctx, err)
}

func (j *job) started(arn string) error {
	j.arn = arn
	j.task.Log.Line(operators.Info, "EcsOperator", "Started task "+arn)
	if j.log != "" {
		parts := strings.Split(arn, "/")
		j.log += "/" + parts[len(parts)-1]
		j.task.Log.Line(operators.Info, "EcsOperator", "Its output is in "+j.log)
	}
	return j.lookAgain()
}

// refuse requests another run when there may be capacity; no thread waits for it.
func (j *job) refuse(why string) error {
	j.arn = ""
	j.refused++
	wait := aws.Backoff(j.refused-1, shortestIdle, longestIdle)
	j.task.Log.Line(operators.Warn, "EcsOperator", fmt.Sprintf("No capacity for the task (%s): retrying in %d seconds", why, wait/time.Second))
	return j.again(wait)
}

// noCapacity reports whether a reason given by ECS is temporary.
func noCapacity(reason string) bool {
	return strings.HasPrefix(reason, "RESOURCE:") || reason == "AGENT" || reason == "EMPTY CAPACITY PROVIDER" ||
		strings.Contains(reason, "Capacity is unavailable at this time") || strings.Contains(reason, "limit on the number of tasks")
}

// remedy returns a hint for ECS failures that are only a keyword.
func remedy(reason string) string {
	switch reason {
	case "INACTIVE":
		return ": the cluster has no active instances; set 'launch_type' or 'capacity_provider'"
	case "ATTRIBUTE":
		return ": no instance of the cluster meets the requirements of the task definition"
	case "MISSING":
		return ": it does not exist"
	}
	return ""
}

// result determines a finished task's outcome from its container's exit code.
func (j *job) result(found types.Task) (operators.Result, error) {
	var container types.Container
	for _, c := range found.Containers {
		if sdk.ToString(c.Name) == j.container {
			container = c
		}
	}
	last := param.New("arn", j.arn, "container", j.container)
	if container.ExitCode != nil {
		last.Set("exit_code", int64(*container.ExitCode))
	}
	if container.ExitCode != nil && *container.ExitCode == 0 {
		return operators.Result{Store: param.New("ecs", param.New("last_task", last)), ResetStore: [][]string{{"ecs", "last_task"}}}, nil
	}
	what := "did not run"
	if container.ExitCode != nil {
		what = fmt.Sprintf("failed with code %d", *container.ExitCode)
	}
	message := fmt.Sprintf("ecs>: container %s of task %s %s%s", j.container, j.arn, what, reasons(found, container))
	if j.log != "" {
		message += "; its output is in " + j.log
	}
	return operators.Result{}, &operators.Failure{Message: message, Properties: param.New("task", last)}
}

// reasons returns why a task ended according to ECS, without the information in the exit code.
func reasons(found types.Task, c types.Container) string {
	var list []string
	if code := found.StopCode; code != "" && code != types.TaskStopCodeEssentialContainerExited {
		list = append(list, string(code))
	}
	if why := sdk.ToString(found.StoppedReason); why != "" && why != "Essential container in task exited" {
		list = append(list, why)
	}
	if why := sdk.ToString(c.Reason); why != "" && why != sdk.ToString(found.StoppedReason) {
		list = append(list, why)
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ": ")
}

// stop ends the task after a kill, even if its start never got a response.
func (j *job) stop(ctx context.Context) error {
	arns := []string{j.arn}
	if j.arn == "" {
		out, err := j.listTasks(ctx, &ecs.ListTasksInput{Cluster: &j.spec.cluster, StartedBy: &j.name})
		if err != nil {
			return j.call("list the tasks of "+j.spec.cluster, "ecs:ListTasks").Failure(ctx, err)
		}
		arns = out.TaskArns
	}
	for _, arn := range arns {
		_, err := j.stopTask(ctx, &ecs.StopTaskInput{Cluster: &j.spec.cluster, Task: &arn,
			Reason: new(fmt.Sprintf("attempt %d of %s was killed", j.task.AttemptID, j.task.ProjectName))})
		if err != nil && !strings.Contains(err.Error(), "referenced task was not found") {
			return j.call("stop "+arn, "ecs:StopTask").Failure(ctx, err)
		}
	}
	return nil
}
