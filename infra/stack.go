package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// stack is one deployment. Each create method is in the file of its concern.
type stack struct {
	awscdk.Stack
	settings

	table          awsdynamodb.ITable
	archives, logs awss3.IBucket
	ownArchives    awss3.Bucket // nil when it was taken over
	events, tasks  queue
	bus            awsevents.EventBus
	topic          awssns.Topic
	functions      map[string]awslambda.Function
	scheduler      awsiam.Role // of schedules that start workflows
	api            awsapigatewayv2.HttpApi
	commands       *commands          // nil: there are none
	callee         awslambda.Function // runs commands; nil: there is none
}

// queue is a queue and where its messages go that cannot be handled.
type queue struct{ live, dead awssqs.Queue }

func newStack(scope constructs.Construct, s settings) (*stack, error) {
	z := &stack{settings: s, functions: map[string]awslambda.Function{}}
	z.Stack = awscdk.NewStack(scope, jsii.String("Zerodag-"+s.Stage), &awscdk.StackProps{
		StackName:   jsii.String("zerodag-" + s.Stage),
		Description: jsii.String("zerodag: workflows of the Digdag language"),
	})
	for _, name := range slices.Sorted(maps.Keys(s.Tags)) {
		awscdk.Tags_Of(z.Stack).Add(jsii.String(name), jsii.String(s.Tags[name]), nil)
	}
	z.createTable()
	z.createBuckets()
	z.createQueues()
	z.createBus()
	z.createNetwork()
	z.createEndpoint()
	if err := z.createCommands(); err != nil {
		return nil, err
	}
	z.createCommandFunction()
	z.createFunctions()
	z.createTriggers()
	z.createUploadTrigger()
	z.createAPI()
	z.createAlarms()
	z.createDashboard()
	z.createOutputs()
	return z, nil
}

// name is the name of a resource that people look for.
func (z *stack) name(what string) *string { return jsii.String("zerodag-" + z.Stage + "-" + what) }
