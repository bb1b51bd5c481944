package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	deployed "zerodag/internal/account"
	"zerodag/internal/prices"
)

// usage returns the usage of the stage since a time, from the counts of CloudWatch and the records of ECS, which keeps
// stopped machines for an hour. It is not a bill: SQS bills requests, each of which may carry ten messages, and
// requests to S3, SSM and EventBridge have no metrics.
func (a *account) usage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	account := deployed.New(a.config)
	s, err := account.Stack(ctx, a.stage)
	if err != nil {
		return nil, err
	}
	if s.CommandFunction != "" {
		s.Functions = append(s.Functions, s.CommandFunction)
	}
	const step = 5 * time.Minute
	list, err := account.Usage(ctx, s, since.Truncate(step), time.Now().Add(step))
	if err != nil {
		return nil, err
	}
	machines, err := a.machines(ctx)
	return append(list, machineUsage(machines, since)...), err
}

// machines returns the tasks that ECS still lists.
func (a *account) machines(ctx context.Context) (machines []ecstypes.Task, err error) {
	cluster := aws.String(a.prefix() + "-commands")
	for _, desired := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		for p := ecs.NewListTasksPaginator(a.ecs, &ecs.ListTasksInput{Cluster: cluster, DesiredStatus: desired}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			var missing *ecstypes.ClusterNotFoundException
			switch {
			case errors.As(err, &missing):
				return nil, nil
			case err != nil:
				return nil, err
			case len(page.TaskArns) == 0:
				continue
			}
			out, err := a.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: cluster, Tasks: page.TaskArns})
			if err != nil {
				return nil, err
			}
			machines = append(machines, out.Tasks...)
		}
	}
	return machines, nil
}

// machineUsage returns the usage of the machines that began since a time.
func machineUsage(machines []ecstypes.Task, since time.Time) []prices.Metered {
	type use struct{ cpu, memory float64 }
	used := map[bool]use{} // by whether the machine is arm64
	var hours float64
	counted := 0
	for _, t := range machines {
		began, end := aws.ToTime(t.PullStartedAt), time.Now()
		if began.IsZero() {
			began = aws.ToTime(t.StartedAt)
		}
		if t.StoppedAt != nil {
			end = *t.StoppedAt
		}
		if began.IsZero() || began.Before(since) || end.Before(began) {
			continue
		}
		took := max(end.Sub(began), time.Minute).Hours() // at least a minute is billed
		var units, megabytes float64
		fmt.Sscan(aws.ToString(t.Cpu), &units)
		fmt.Sscan(aws.ToString(t.Memory), &megabytes)
		arm := slices.ContainsFunc(t.Attributes, func(a ecstypes.Attribute) bool {
			return aws.ToString(a.Name) == "ecs.cpu-architecture" && aws.ToString(a.Value) == "arm64"
		})
		u := used[arm]
		used[arm] = use{u.cpu + took*units/1024, u.memory + took*megabytes/1024}
		hours, counted = hours+took, counted+1
	}
	const service = "Amazon Elastic Container Service"
	return []prices.Metered{
		prices.Meter(service, fmt.Sprintf("Fargate-vCPU-Hours:perCPU (%d machines of both kinds)", counted), used[false].cpu, prices.FargateCPUHour),
		prices.Meter(service, "Fargate-GB-Hours", used[false].memory, prices.FargateGBHour),
		prices.Meter(service, "Fargate-ARM-vCPU-Hours:perCPU", used[true].cpu, prices.FargateARMCPUHour),
		prices.Meter(service, "Fargate-ARM-GB-Hours", used[true].memory, prices.FargateARMGBHour),
		prices.Meter("Amazon Virtual Private Cloud", "PublicIPv4:InUseAddress", hours, prices.AddressHour),
	}
}
