package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"zerodag/internal/prices"
)

// usage is what the stage used since a time, as CloudWatch counts it and ECS remembers it: stopped
// machines for an hour. It is no bill: SQS is billed by requests, of which one may carry ten messages;
// requests to S3, SSM and EventBridge have no metrics.
func (a *account) usage(ctx context.Context, since time.Time) (list []prices.Metered, err error) {
	for _, part := range []func(context.Context, time.Time) ([]prices.Metered, error){a.functionUsage, a.apiUsage, a.queueUsage, a.tableUsage, a.logUsage, a.machineUsage} {
		more, err := part(ctx, since)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// sum adds up a metric since a time.
func (a *account) sum(ctx context.Context, namespace, metric string, since time.Time, dimensions ...string) (float64, error) {
	form := url.Values{"Namespace": {namespace}, "MetricName": {metric}, "Statistics.member.1": {"Sum"}, "Period": {"300"},
		"StartTime": {since.UTC().Truncate(5 * time.Minute).Format(time.RFC3339)}, "EndTime": {time.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339)}}
	for i := 0; i+1 < len(dimensions); i += 2 {
		form.Set(fmt.Sprintf("Dimensions.member.%d.Name", i/2+1), dimensions[i])
		form.Set(fmt.Sprintf("Dimensions.member.%d.Value", i/2+1), dimensions[i+1])
	}
	var out struct {
		Sums []float64 `xml:"GetMetricStatisticsResult>Datapoints>member>Sum"`
	}
	if err := a.form(ctx, "monitoring", metricVersion, "GetMetricStatistics", form, &out); err != nil {
		return 0, err
	}
	total := 0.0
	for _, x := range out.Sums {
		total += x
	}
	return total, nil
}

func (a *account) functionUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	names, err := a.functions(ctx)
	if err != nil {
		return nil, err
	}
	var calls, seconds float64
	for _, name := range names {
		c, err := a.lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
		if err != nil {
			return nil, err
		}
		n, err := a.sum(ctx, "AWS/Lambda", "Invocations", since, "FunctionName", name)
		if err != nil {
			return nil, err
		}
		ms, err := a.sum(ctx, "AWS/Lambda", "Duration", since, "FunctionName", name)
		if err != nil {
			return nil, err
		}
		calls += n
		seconds += ms / 1000 * float64(aws.ToInt32(c.MemorySize)) / 1024
	}
	return []prices.Metered{prices.Meter("AWS Lambda", "Request-ARM", calls, prices.LambdaRequest), prices.Meter("AWS Lambda", "Lambda-GB-Second-ARM", seconds, prices.LambdaGBSecond)}, nil
}

func (a *account) apiUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	apis, err := a.apis(ctx)
	if err != nil {
		return nil, err
	}
	total := 0.0
	for _, x := range apis {
		id, _, _ := strings.Cut(x, " ")
		n, err := a.sum(ctx, "AWS/ApiGateway", "Count", since, "ApiId", id)
		if err != nil {
			return nil, err
		}
		total += n
	}
	return []prices.Metered{prices.Meter("Amazon API Gateway", "ApiGatewayHttpRequest", total, prices.APIRequest)}, nil
}

func (a *account) queueUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	urls, err := a.queues(ctx)
	if err != nil {
		return nil, err
	}
	var standard, fifo float64
	for _, address := range urls {
		name := last(address, "/")
		for _, metric := range []string{"NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted", "NumberOfEmptyReceives"} {
			n, err := a.sum(ctx, "AWS/SQS", metric, since, "QueueName", name)
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(name, ".fifo") {
				fifo += n
			} else {
				standard += n
			}
		}
	}
	return []prices.Metered{prices.Meter("Amazon Simple Queue Service", "Requests-Tier1 (at most: each message as a request)", standard, prices.StandardRequest+prices.FairRequest),
		prices.Meter("Amazon Simple Queue Service", "Requests-FIFO-Tier1 (at most)", fifo, prices.FIFORequest)}, nil
}

func (a *account) tableUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	names, err := a.tables(ctx)
	if err != nil {
		return nil, err
	}
	var reads, writes float64
	for _, name := range names {
		r, err := a.sum(ctx, "AWS/DynamoDB", "ConsumedReadCapacityUnits", since, "TableName", name)
		if err != nil {
			return nil, err
		}
		w, err := a.sum(ctx, "AWS/DynamoDB", "ConsumedWriteCapacityUnits", since, "TableName", name)
		if err != nil {
			return nil, err
		}
		reads, writes = reads+r, writes+w
	}
	return []prices.Metered{prices.Meter("Amazon DynamoDB", "ReadRequestUnits", reads, prices.ReadUnit), prices.Meter("Amazon DynamoDB", "WriteRequestUnits", writes, prices.WriteUnit)}, nil
}

func (a *account) logUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	names, err := a.logGroups(ctx)
	if err != nil {
		return nil, err
	}
	total := 0.0
	for _, name := range names {
		n, err := a.sum(ctx, "AWS/Logs", "IncomingBytes", since, "LogGroupName", name)
		if err != nil {
			return nil, err
		}
		total += n / (1 << 30)
	}
	return []prices.Metered{prices.Meter("AmazonCloudWatch", "DataProcessing-Bytes (GB)", total, prices.LogGB)}, nil
}

// machineUsage are the machines that ECS still knows.
func (a *account) machineUsage(ctx context.Context, since time.Time) ([]prices.Metered, error) {
	type use struct{ cpu, memory float64 }
	used := map[bool]use{} // by whether the machine is of arm64
	var hours float64
	machines := 0
	for _, desired := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		tasks, err := a.tasks(ctx, desired)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
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
			took := max(end.Sub(began), time.Minute).Hours() // a minute at least is billed
			var units, megabytes float64
			fmt.Sscan(aws.ToString(t.Cpu), &units)
			fmt.Sscan(aws.ToString(t.Memory), &megabytes)
			arm := slices.ContainsFunc(t.Attributes, func(a ecstypes.Attribute) bool {
				return aws.ToString(a.Name) == "ecs.cpu-architecture" && aws.ToString(a.Value) == "arm64"
			})
			u := used[arm]
			used[arm] = use{u.cpu + took*units/1024, u.memory + took*megabytes/1024}
			hours, machines = hours+took, machines+1
		}
	}
	const service = "Amazon Elastic Container Service"
	return []prices.Metered{prices.Meter(service, fmt.Sprintf("Fargate-vCPU-Hours:perCPU (%d machines of both kinds)", machines), used[false].cpu, prices.FargateCPUHour),
		prices.Meter(service, "Fargate-GB-Hours", used[false].memory, prices.FargateGBHour),
		prices.Meter(service, "Fargate-ARM-vCPU-Hours:perCPU", used[true].cpu, prices.FargateARMCPUHour), prices.Meter(service, "Fargate-ARM-GB-Hours", used[true].memory, prices.FargateARMGBHour),
		prices.Meter("Amazon Virtual Private Cloud", "PublicIPv4:InUseAddress", hours, prices.AddressHour)}, nil
}
