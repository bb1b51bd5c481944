package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// Stop makes a stage ready for its removal: no function that launches machines is called again, and
// machines that run are stopped. It returns how many it stopped, when none is left. A cluster with a
// machine cannot be deleted. What is not there is no error.
func (a *Account) Stop(ctx context.Context, stage string) (int, error) {
	for _, f := range []string{"agent", "tick"} { // who launches
		_, err := a.lambda.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: aws.String("zerodag-" + stage + "-" + f), ReservedConcurrentExecutions: aws.Int32(0)})
		var missing *lambdatypes.ResourceNotFoundException
		if err != nil && !errors.As(err, &missing) {
			return 0, fmt.Errorf("switch off the function %s: %w", f, err)
		}
	}
	cluster, stopped := "zerodag-"+stage+"-commands", map[string]bool{}
	for {
		running, err := a.machines(ctx, cluster)
		if err != nil || len(running) == 0 {
			return len(stopped), err
		}
		for _, task := range running {
			if stopped[task] {
				continue
			}
			if _, err := a.ecs.StopTask(ctx, &ecs.StopTaskInput{Cluster: &cluster, Task: &task, Reason: aws.String("the stage is removed")}); err != nil {
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

// machines are the tasks of a cluster that are not stopped: ECS lists them as wanted, or as stopping
// until they are.
func (a *Account) machines(ctx context.Context, cluster string) ([]string, error) {
	var list []string
	for _, desired := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		for p := ecs.NewListTasksPaginator(a.ecs, &ecs.ListTasksInput{Cluster: &cluster, DesiredStatus: desired}); p.HasMorePages(); {
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
				return nil, fmt.Errorf("look at the machines of %s: %w", cluster, err)
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
