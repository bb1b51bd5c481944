package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"zerodag/internal/awscall"
	"zerodag/internal/env"
)

// launchers lists the functions that launch machines. Without them, no task runs and no schedule starts.
func launchers() []string { return []string{"agent", "tick"} }

// functionOf returns the name of one of a stage's functions.
func functionOf(stage, function string) *string {
	return aws.String("zerodag-" + stage + "-" + function)
}

// Stopped counts the machines that Stop ended.
type Stopped struct {
	Machines int // on Fargate
	Microvms int
	// Left is the reason why MicroVMs may still be running; nil if none are. They do not block a removal, and end after 8
	// hours at the latest.
	Left error
}

// Stop switches a stage off: the functions that launch machines are not called again, and running machines are stopped.
// It returns when none are left, because a cluster with a machine cannot be deleted. Missing resources are not an
// error.
func (a *Account) Stop(ctx context.Context, stage string) (Stopped, error) {
	var s Stopped
	for _, f := range launchers() {
		_, err := a.lambda.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: functionOf(stage, f), ReservedConcurrentExecutions: aws.Int32(0)})
		var missing *lambdatypes.ResourceNotFoundException
		if err != nil && !errors.As(err, &missing) {
			return s, fmt.Errorf("disable the function %s: %w", f, err)
		}
	}
	s.Microvms, s.Left = a.endMicrovms(ctx, stage)
	var err error
	s.Machines, err = a.stopMachines(ctx, "zerodag-"+stage+"-commands")
	return s, err
}

// stopMachines stops a cluster's tasks, waits until none are left, and returns how many it stopped.
func (a *Account) stopMachines(ctx context.Context, cluster string) (int, error) {
	stopped := map[string]bool{}
	for {
		running, err := a.machines(ctx, cluster)
		if err != nil || len(running) == 0 {
			return len(stopped), err
		}
		for _, task := range running {
			if stopped[task] {
				continue
			}
			if _, err := a.ecs.StopTask(ctx, &ecs.StopTaskInput{Cluster: &cluster, Task: &task, Reason: aws.String("the stage is being stopped")}); err != nil {
				return len(stopped), fmt.Errorf("stop machine %s: %w", task, err)
			}
			stopped[task] = true
		}
		select {
		case <-ctx.Done():
			return len(stopped), fmt.Errorf("%d machines have not stopped yet: %w", len(running), ctx.Err())
		case <-time.After(a.pause):
		}
	}
}

// tasksOf adapts the operation to the SDK's paginator, because passing the client would link all of its operations
// (docs/adr/0021-what-a-function-links.md).
type tasksOf func(context.Context, *ecs.ListTasksInput, ...func(*ecs.Options)) (*ecs.ListTasksOutput, error)

func (call tasksOf) ListTasks(ctx context.Context, in *ecs.ListTasksInput, options ...func(*ecs.Options)) (*ecs.ListTasksOutput, error) {
	return call(ctx, in, options...)
}

// machines lists a cluster's tasks that have not stopped yet: ECS lists a task under the desired status RUNNING or,
// while it is stopping, STOPPED.
func (a *Account) machines(ctx context.Context, cluster string) ([]string, error) {
	var list []string
	for _, desired := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		for p := ecs.NewListTasksPaginator(tasksOf(a.ecs.ListTasks), &ecs.ListTasksInput{Cluster: &cluster, DesiredStatus: desired}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			var missing *ecstypes.ClusterNotFoundException
			if errors.As(err, &missing) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("list the machines of %s: %w", cluster, err)
			}
			if len(page.TaskArns) == 0 {
				continue
			}
			out, err := a.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: page.TaskArns})
			if err != nil {
				return nil, fmt.Errorf("describe the machines of %s: %w", cluster, err)
			}
			for _, t := range out.Tasks {
				if aws.ToString(t.LastStatus) != "STOPPED" {
					list = append(list, aws.ToString(t.TaskArn))
				}
			}
		}
	}
	return list, nil
}

// microvmsPath is the path for MicroVM operations.
const microvmsPath = "/2025-09-09/microvms"

// endMicrovms terminates a stage's MicroVMs and returns how many there were.
func (a *Account) endMicrovms(ctx context.Context, stage string) (int, error) {
	image, err := a.microvmImage(ctx, stage)
	if err != nil || image == "" {
		return 0, err
	}
	running, err := a.runningMicrovms(ctx, image)
	if err != nil {
		return 0, err
	}
	for i, id := range running {
		text, status, err := a.calls.Send(ctx, a.calls.Regional("lambda"), awscall.Request{Method: http.MethodDelete, Path: microvmsPath + "/" + url.PathEscape(id)})
		if err == nil && status != http.StatusNotFound && status != http.StatusConflict { // it has ended, or is about to
			err = awscall.ReadJSON(text, status, &struct{}{})
		}
		if err != nil {
			return i, fmt.Errorf("terminate MicroVM %s: %w", id, err)
		}
	}
	return len(running), nil
}

// microvmImage returns the ARN of the image that a stage's MicroVMs use, from the agent's environment; "" if the stage
// has none.
func (a *Account) microvmImage(ctx context.Context, stage string) (string, error) {
	out, err := a.lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: functionOf(stage, "agent")})
	var missing *lambdatypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the configuration of the agent: %w", err)
	}
	var commands env.Commands
	if out.Environment == nil || out.Environment.Variables["ZERODAG_COMMANDS"] == "" {
		return "", nil
	}
	if err := json.Unmarshal([]byte(out.Environment.Variables["ZERODAG_COMMANDS"]), &commands); err != nil {
		return "", fmt.Errorf("read the configuration of the agent: %w", err)
	}
	return commands.Microvms.Image, nil
}

// runningMicrovms lists an image's MicroVMs that have not ended and are not ending.
func (a *Account) runningMicrovms(ctx context.Context, image string) ([]string, error) {
	var list []string
	query := url.Values{"imageIdentifier": {image}}
	for {
		var page struct {
			Items []struct {
				ID    string `json:"microvmId"`
				State string `json:"state"`
			} `json:"items"`
			Next string `json:"nextToken"`
		}
		if err := a.calls.Get(ctx, a.calls.Regional("lambda"), microvmsPath, query, &page); err != nil {
			return nil, fmt.Errorf("list the MicroVMs of %s: %w", image, err)
		}
		for _, i := range page.Items {
			if !slices.Contains([]string{"TERMINATING", "TERMINATED"}, i.State) {
				list = append(list, i.ID)
			}
		}
		if page.Next == "" {
			return list, nil
		}
		query.Set("nextToken", page.Next)
	}
}

// Start reverses Stop: it gives the functions that launch machines the reserved concurrency in the stage's template, or
// none. It returns the new reservation of each function; 0 means no reservation.
func (a *Account) Start(ctx context.Context, stage string) (map[string]int, error) {
	reserved, err := a.reservations(ctx, stage)
	if err != nil {
		return nil, err
	}
	for _, f := range launchers() {
		n, there := reserved[f]
		switch {
		case !there:
			return nil, fmt.Errorf("the stack zerodag-%s has no function %s", stage, *functionOf(stage, f))
		case n > 0:
			_, err = a.lambda.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: functionOf(stage, f), ReservedConcurrentExecutions: aws.Int32(int32(n))}) // #nosec G115 -- an account has a few thousand
		default:
			_, err = a.lambda.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: functionOf(stage, f)})
		}
		if err != nil {
			return nil, fmt.Errorf("enable the function %s: %w", f, err)
		}
	}
	return reserved, nil
}

// reservations reads the reserved concurrency of the functions that launch machines from the deployed template.
func (a *Account) reservations(ctx context.Context, stage string) (map[string]int, error) {
	var answer struct {
		Body string `xml:"GetTemplateResult>TemplateBody"`
	}
	if err := a.stacks(ctx, stage, url.Values{"Action": {"GetTemplate"}}, &answer); err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				FunctionName any // may be an expression in other resources
				Reserved     any `json:"ReservedConcurrentExecutions"`
			}
		}
	}
	if err := json.Unmarshal([]byte(answer.Body), &template); err != nil {
		return nil, fmt.Errorf("read the template of the stack zerodag-%s: %w", stage, err)
	}
	list := map[string]int{}
	for _, f := range launchers() {
		for _, r := range template.Resources {
			if r.Type == "AWS::Lambda::Function" && r.Properties.FunctionName == *functionOf(stage, f) {
				n, _ := r.Properties.Reserved.(float64)
				list[f] = int(n)
			}
		}
	}
	return list, nil
}
