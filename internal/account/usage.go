package account

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"zerodag/internal/awscall"
	"zerodag/internal/prices"
)

// Stack holds CloudFormation's data about a deployed stage.
type Stack struct {
	URL                        string // the URL of the API
	APIs                       []string
	Functions, Queues          []string
	Tables, LogGroups          []string
	CommandFunction            string // runs short commands, so its running time counts as task time; "" if there is none
	Alarms, Dashboards         int
	Account, Region, StackName string
}

// NoStage is returned for a stage that has no stack in the account and region.
type NoStage struct{ Stage, Region string }

func (e *NoStage) Error() string {
	return fmt.Sprintf("stage %s is not deployed in %s: the account has no stack zerodag-%s there\nhint: AWS_REGION and AWS_PROFILE select region and account; `aws cloudformation list-stacks` lists the stacks", e.Stage, e.Region, e.Stage)
}

const stacksVersion = "2010-05-15" // the CloudFormation API version

// Stack reads the resources of a stage's stack. The error is a *NoStage if there is none.
func (a *Account) Stack(ctx context.Context, stage string) (Stack, error) {
	s := Stack{Region: a.config.Region, StackName: "zerodag-" + stage}
	var answer struct {
		Stacks []struct {
			ID      string `xml:"StackId"`
			Status  string `xml:"StackStatus"`
			Outputs []struct {
				Key   string `xml:"OutputKey"`
				Value string `xml:"OutputValue"`
			} `xml:"Outputs>member"`
		} `xml:"DescribeStacksResult>Stacks>member"`
	}
	err := a.stacks(ctx, stage, url.Values{"Action": {"DescribeStacks"}}, &answer)
	if err != nil {
		return s, err
	}
	if len(answer.Stacks) == 0 {
		return s, &NoStage{stage, a.config.Region}
	}
	for _, o := range answer.Stacks[0].Outputs {
		if o.Key == "Url" {
			s.URL = strings.TrimSuffix(o.Value, "/")
		}
	}
	if parts := strings.Split(answer.Stacks[0].ID, ":"); len(parts) > 4 {
		s.Account = parts[4]
	}
	if s.URL == "" {
		return s, fmt.Errorf("the stack zerodag-%s has no output for the address of its API: its state is %s, so its deploy is in progress or has failed\nhint: make deploy STAGE=%s", stage, answer.Stacks[0].Status, stage)
	}
	return s, a.resources(ctx, stage, &s)
}

// resources adds the resources that CloudWatch counts separately.
func (a *Account) resources(ctx context.Context, stage string, s *Stack) error {
	form := url.Values{"Action": {"ListStackResources"}}
	for {
		var page struct {
			List []struct {
				Type string `xml:"ResourceType"`
				ID   string `xml:"PhysicalResourceId"`
			} `xml:"ListStackResourcesResult>StackResourceSummaries>member"`
			Next string `xml:"ListStackResourcesResult>NextToken"`
		}
		if err := a.stacks(ctx, stage, form, &page); err != nil {
			return err
		}
		for _, r := range page.List {
			switch r.Type {
			case "AWS::Lambda::Function":
				switch {
				case r.ID == "zerodag-"+stage+"-commands":
					s.CommandFunction = r.ID
				case strings.HasPrefix(r.ID, "zerodag-"): // excludes functions that the CDK creates for itself
					s.Functions = append(s.Functions, r.ID)
				}
			case "AWS::SQS::Queue":
				s.Queues = append(s.Queues, r.ID[strings.LastIndex(r.ID, "/")+1:])
			case "AWS::DynamoDB::Table":
				s.Tables = append(s.Tables, r.ID)
			case "AWS::Logs::LogGroup":
				s.LogGroups = append(s.LogGroups, r.ID)
			case "AWS::ApiGatewayV2::Api":
				s.APIs = append(s.APIs, r.ID)
			case "AWS::CloudWatch::Alarm":
				s.Alarms++
			case "AWS::CloudWatch::Dashboard":
				s.Dashboards++
			}
		}
		if page.Next == "" {
			return nil
		}
		form.Set("NextToken", page.Next)
	}
}

// stacks queries CloudFormation about a stage's stack.
func (a *Account) stacks(ctx context.Context, stage string, form url.Values, answer any) error {
	form.Set("Version", stacksVersion)
	form.Set("StackName", "zerodag-"+stage)
	err := a.calls.Query(ctx, a.calls.Regional("cloudformation"), form, answer)
	var no *awscall.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no) && no.Code == "ValidationError" && strings.Contains(no.Message, "does not exist"):
		return &NoStage{stage, a.config.Region}
	case isDenied(err):
		needs := "cloudformation:DescribeStacks and cloudformation:ListStackResources"
		if form.Get("Action") == "GetTemplate" {
			needs = "cloudformation:GetTemplate"
		}
		return fmt.Errorf("read the stack zerodag-%s: %w\nhint: the credentials need %s on it", stage, err, needs)
	}
	return fmt.Errorf("read the stack zerodag-%s: %w", stage, err)
}

// metric is a CloudWatch metric whose sum is queried.
type metric struct{ namespace, name, dimension, value string }

// mostQueries is the maximum number of metrics that one request may query.
const mostQueries = 500

// Usage returns the usage of a stage as CloudWatch counts it for the stage as a whole, at list prices. CloudWatch has
// no counts for S3, SNS, EventBridge, SSM, KMS or machines. It counts in days, or in steps of five minutes for a period
// of less than a day. IsDenied reports whether an error means that the credentials lack the permission.
func (a *Account) Usage(ctx context.Context, s Stack, from, to time.Time) ([]prices.Metered, error) {
	var wanted []metric
	for _, f := range s.Functions {
		wanted = append(wanted, metric{"AWS/Lambda", "Invocations", "FunctionName", f}, metric{"AWS/Lambda", "Duration", "FunctionName", f})
	}
	for _, q := range s.Queues {
		for _, name := range []string{"NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted", "NumberOfEmptyReceives"} {
			wanted = append(wanted, metric{"AWS/SQS", name, "QueueName", q})
		}
	}
	for _, t := range s.Tables {
		wanted = append(wanted, metric{"AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", t}, metric{"AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", t})
	}
	for _, g := range s.LogGroups {
		wanted = append(wanted, metric{"AWS/Logs", "IncomingBytes", "LogGroupName", g})
	}
	for _, id := range s.APIs {
		wanted = append(wanted, metric{"AWS/ApiGateway", "Count", "ApiId", id})
	}
	sums := map[metric]float64{}
	for begin := 0; begin < len(wanted); begin += mostQueries {
		if err := a.sums(ctx, wanted[begin:min(begin+mostQueries, len(wanted))], from, to, sums); err != nil {
			return nil, fmt.Errorf("read metrics from CloudWatch: %w", err)
		}
	}
	sizes, err := a.sizes(ctx, s.Functions)
	if err != nil {
		return nil, err
	}
	return metered(sums, sizes), nil
}

// sums adds up metrics day by day, or in steps of five minutes if whole days would cover much more time.
func (a *Account) sums(ctx context.Context, wanted []metric, from, to time.Time, sums map[metric]float64) error {
	form := url.Values{"Action": {"GetMetricData"}, "Version": {"2010-08-01"}, "StartTime": {from.UTC().Format(time.RFC3339)}, "EndTime": {to.UTC().Format(time.RFC3339)}}
	period := "86400"
	if to.Sub(from) < 24*time.Hour {
		period = "300"
	}
	for i, m := range wanted {
		at := fmt.Sprintf("MetricDataQueries.member.%d.", i+1)
		form.Set(at+"Id", "m"+strconv.Itoa(i))
		form.Set(at+"MetricStat.Metric.Namespace", m.namespace)
		form.Set(at+"MetricStat.Metric.MetricName", m.name)
		form.Set(at+"MetricStat.Metric.Dimensions.member.1.Name", m.dimension)
		form.Set(at+"MetricStat.Metric.Dimensions.member.1.Value", m.value)
		form.Set(at+"MetricStat.Period", period)
		form.Set(at+"MetricStat.Stat", "Sum")
	}
	for {
		var page struct {
			List []struct {
				ID     string    `xml:"Id"`
				Status string    `xml:"StatusCode"`
				Values []float64 `xml:"Values>member"`
			} `xml:"GetMetricDataResult>MetricDataResults>member"`
			Next string `xml:"GetMetricDataResult>NextToken"`
		}
		if err := a.calls.Query(ctx, a.calls.Regional("monitoring"), form, &page); err != nil {
			return err
		}
		for _, r := range page.List {
			i, err := strconv.Atoi(strings.TrimPrefix(r.ID, "m"))
			if err != nil || i < 0 || i >= len(wanted) {
				return fmt.Errorf("CloudWatch returned the metric %q, which was not requested", r.ID)
			}
			if r.Status == "InternalError" || r.Status == "Forbidden" {
				return fmt.Errorf("CloudWatch returned no sum of %s for %s: %s", wanted[i].name, wanted[i].value, r.Status)
			}
			for _, v := range r.Values {
				sums[wanted[i]] += v
			}
		}
		if page.Next == "" {
			return nil
		}
		form.Set("NextToken", page.Next)
	}
}

// size determines what a function costs per second.
type size struct {
	gigabytes float64
	arm       bool
}

// sizes returns the current sizes of functions; their sizes before an upgrade are unknown.
func (a *Account) sizes(ctx context.Context, functions []string) (map[string]size, error) {
	sizes := map[string]size{}
	for _, f := range functions {
		c, err := a.lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(f)})
		if err != nil {
			return nil, fmt.Errorf("read the memory of function %s: %w", f, err)
		}
		arm := len(c.Architectures) > 0 && c.Architectures[0] == lambdatypes.ArchitectureArm64
		sizes[f] = size{float64(aws.ToInt32(c.MemorySize)) / 1024, arm}
	}
	return sizes, nil
}

// metered converts sums to billing units.
func metered(sums map[metric]float64, sizes map[string]size) []prices.Metered {
	var calls, arm, other, standard, fifo, reads, writes, logs, api float64
	for m, n := range sums {
		switch {
		case m.name == "Invocations":
			calls += n
		case m.name == "Duration" && sizes[m.value].arm:
			arm += n / 1000 * sizes[m.value].gigabytes // milliseconds
		case m.name == "Duration":
			other += n / 1000 * sizes[m.value].gigabytes
		case m.namespace == "AWS/SQS" && strings.HasSuffix(m.value, ".fifo"):
			fifo += n
		case m.namespace == "AWS/SQS":
			standard += n
		case m.name == "ConsumedReadCapacityUnits":
			reads += n
		case m.name == "ConsumedWriteCapacityUnits":
			writes += n
		case m.namespace == "AWS/Logs":
			logs += n / (1 << 30)
		default:
			api += n
		}
	}
	const queues, functions, table = "Amazon Simple Queue Service", "AWS Lambda", "Amazon DynamoDB"
	list := []prices.Metered{
		prices.Meter(functions, "requests", calls, prices.LambdaRequest),
		prices.Meter(functions, "GB-seconds, arm64", arm, prices.LambdaGBSecond),
		prices.Meter(functions, "GB-seconds, x86_64", other, prices.LambdaX86Second),
		prices.Meter(queues, "messages and empty receives, standard (upper limit: one request each)", standard, prices.StandardRequest+prices.FairRequest),
		prices.Meter(queues, "messages and empty receives, FIFO (upper limit: one request each)", fifo, prices.FIFORequest),
		prices.Meter(table, "read units", reads, prices.ReadUnit),
		prices.Meter(table, "write units", writes, prices.WriteUnit),
		prices.Meter("Amazon API Gateway", "requests", api, prices.APIRequest),
		prices.Meter("AmazonCloudWatch", "GB of logs", logs, prices.LogGB),
	}
	return list
}
