package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"zerodag/internal/prices"
)

// The usage of the tick while nothing is due, as counted by `make bench-aws` on a deployed stack, and an estimate of
// its time on Lambda.
const (
	idleTickReads   = 15.0 // read units
	idleTickWrites  = 1.0  // write units
	idleRoundReads  = 5.0  // additional read units, four times an hour
	idleTickSeconds = 0.15
	platformLines   = 400 // bytes that Lambda logs about each call by default
)

// item is a part of the cost of an idle deployment.
type item struct {
	what          string
	list, nothing float64 // dollars a month: by list price, and in an account with nothing else
}

// template is the part of a CloudFormation template that is read.
type template struct {
	Resources map[string]struct {
		Type       string
		Properties map[string]any
	}
}

// freeWhileIdle lists types of resources that cost nothing while they are unused.
var freeWhileIdle = strings.Fields(`AWS::ApiGatewayV2::Api AWS::ApiGatewayV2::ApiMapping AWS::ApiGatewayV2::DomainName AWS::ApiGatewayV2::Integration AWS::ApiGatewayV2::Route
	AWS::ApiGatewayV2::Stage AWS::CDK::Metadata AWS::DynamoDB::Table AWS::EC2::InternetGateway AWS::EC2::Route AWS::EC2::RouteTable AWS::EC2::SecurityGroup AWS::EC2::Subnet
	AWS::EC2::SubnetRouteTableAssociation AWS::EC2::VPC AWS::EC2::VPCGatewayAttachment AWS::ECS::Cluster AWS::Events::EventBus AWS::Events::Rule AWS::IAM::Policy AWS::IAM::Role
	AWS::Lambda::Alias AWS::Lambda::EventInvokeConfig AWS::Lambda::Function AWS::Lambda::Permission AWS::Logs::LogGroup AWS::Route53::RecordSet AWS::S3::Bucket AWS::S3::BucketPolicy AWS::SNS::Subscription
	AWS::SNS::Topic AWS::SNS::TopicPolicy AWS::SQS::Queue AWS::SQS::QueuePolicy`)

// polls returns the monthly requests with which a function polls its queue, and whether it is a FIFO queue.
func (t template) polls(mapping map[string]any) (requests float64, fifo bool) {
	requests = prices.PollsPerMonth * prices.IdlePollersFewer
	if mapping["ScalingConfig"] != nil {
		requests = prices.PollsPerMonth * prices.IdlePollers
	}
	return requests, t.isFIFO(fmt.Sprint(mapping["EventSourceArn"]))
}

// ofTick returns the memory of the function that is called each minute, in MiB, and the GiB that Lambda logs about it
// in a month.
func ofTick(function map[string]any) (memory, logged float64) {
	memory, _ = function["MemorySize"].(float64)
	if c, _ := function["LoggingConfig"].(map[string]any); c["SystemLogLevel"] != "WARN" {
		logged = prices.MinutesPerMonth * platformLines / float64(1<<30)
	}
	return memory, logged
}

// idleBill returns the cost of a template's deployment in a month in which nothing runs. A resource of an unknown type
// causes an error because it may have a price.
func idleBill(text []byte) ([]item, error) {
	var t template
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var standard, fifo, alarms, dashboards, keys, logged, memory float64
	for name, r := range t.Resources {
		switch {
		case r.Type == "AWS::Lambda::EventSourceMapping":
			polls, ofFIFO := t.polls(r.Properties)
			if ofFIFO {
				fifo += polls
				continue
			}
			standard += polls
		case r.Type == "AWS::CloudWatch::Alarm":
			alarms += alarmMetrics(r.Properties)
		case r.Type == "AWS::CloudWatch::Dashboard":
			dashboards++
		case r.Type == "AWS::EC2::VPCEndpoint" && r.Properties["VpcEndpointType"] == "Gateway":
		case !slices.Contains(freeWhileIdle, r.Type):
			return nil, fmt.Errorf("%s: the idle cost of a %s is unknown: add it", name, r.Type)
		}
		if sse, _ := r.Properties["SSESpecification"].(map[string]any); sse["SSEEnabled"] == true {
			keys += prices.KeyRequestsOfTable
		}
		if strings.HasPrefix(name, "tick") && r.Type == "AWS::Lambda::Function" {
			memory, logged = ofTick(r.Properties)
		}
	}
	if memory == 0 || standard == 0 || fifo == 0 {
		return nil, fmt.Errorf("the template has no tick, or no polled queue")
	}
	const calls = float64(prices.MinutesPerMonth)
	seconds := calls * idleTickSeconds * memory / 1024
	// The free tier shared by both kinds of requests is applied to the cheaper kind first.
	freeStandard := min(standard, prices.FreeQueueRequests)
	return []item{
		{"polling of two queues", standard*prices.StandardRequest + fifo*prices.FIFORequest, (standard-freeStandard)*prices.StandardRequest + max(fifo-(prices.FreeQueueRequests-freeStandard), 0)*prices.FIFORequest},
		{"tick, DynamoDB", calls*(idleTickReads*prices.ReadUnit+idleTickWrites*prices.WriteUnit) + calls/15*idleRoundReads*prices.ReadUnit, calls*(idleTickReads*prices.ReadUnit+idleTickWrites*prices.WriteUnit) + calls/15*idleRoundReads*prices.ReadUnit},
		{"tick, Lambda", calls*prices.LambdaRequest + seconds*prices.LambdaGBSecond, max(calls-prices.FreeInvocations, 0)*prices.LambdaRequest + max(seconds-prices.FreeGBSeconds, 0)*prices.LambdaGBSecond},
		{"logs", logged * prices.LogGB, max(logged-prices.FreeLogGB, 0) * prices.LogGB},
		{"keys", keys * prices.KeyRequest, max(keys-prices.FreeKeyRequests, 0) * prices.KeyRequest},
		{"alarms", alarms * prices.AlarmMetric, max(alarms-prices.FreeAlarmMetrics, 0) * prices.AlarmMetric},
		{"dashboards", dashboards * prices.Dashboard, max(dashboards-prices.FreeDashboards, 0) * prices.Dashboard},
	}, nil
}

// isFIFO reports whether the queue that an attribute refers to is a FIFO queue.
func (t template) isFIFO(reference string) bool {
	for name, r := range t.Resources {
		if r.Type == "AWS::SQS::Queue" && strings.Contains(reference, name) {
			return r.Properties["FifoQueue"] == true
		}
	}
	return false
}

// alarmMetrics returns how many metrics an alarm reads, because CloudWatch charges for each.
func alarmMetrics(properties map[string]any) float64 {
	list, ok := properties["Metrics"].([]any)
	if !ok {
		return 1
	}
	n := 0.0
	for _, q := range list {
		if q.(map[string]any)["MetricStat"] != nil {
			n++
		}
	}
	return n
}

// sum adds up a bill.
func sum(bill []item) (list, nothing float64) {
	for _, i := range bill {
		list += i.list
		nothing += i.nothing
	}
	return list, nothing
}
