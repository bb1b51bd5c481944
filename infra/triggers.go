package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

// eventBatch is how many events the executor gets at once.
const eventBatch = 10

// createBus makes the bus of events in and out, and the topic of notices and alarms.
func (z *stack) createBus() {
	z.bus = awsevents.NewEventBus(z.Stack, jsii.String("Bus"), &awsevents.EventBusProps{EventBusName: z.name("bus")})
	z.topic = awssns.NewTopic(z.Stack, jsii.String("Topic"), &awssns.TopicProps{TopicName: z.name("notices"), EnforceSSL: jsii.Bool(true)})
	if z.Email != "" {
		z.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(z.Email), nil))
	}
}

// createTriggers says what starts which function.
func (z *stack) createTriggers() {
	z.functions["executor"].AddEventSource(awslambdaeventsources.NewSqsEventSource(z.events.live, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize: jsii.Number(eventBatch), ReportBatchItemFailures: jsii.Bool(true)}))
	z.functions["agent"].AddEventSource(awslambdaeventsources.NewSqsEventSource(z.tasks.live, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize: jsii.Number(1), ReportBatchItemFailures: jsii.Bool(true), MaxConcurrency: jsii.Number(z.Concurrency)}))
	tick := awseventstargets.NewLambdaFunction(z.functions["tick"], &awseventstargets.LambdaFunctionProps{RetryAttempts: jsii.Number(2)})
	awsevents.NewRule(z.Stack, jsii.String("EveryMinute"), &awsevents.RuleProps{
		Schedule: awsevents.Schedule_Rate(minutes(1)), Targets: &[]awsevents.IRuleTarget{tick}})
	awsevents.NewRule(z.Stack, jsii.String("Starts"), &awsevents.RuleProps{EventBus: z.bus,
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("zerodag.start")}, Targets: &[]awsevents.IRuleTarget{tick}})
	if z.commands != nil {
		awsevents.NewRule(z.Stack, jsii.String("Machines"), &awsevents.RuleProps{Targets: &[]awsevents.IRuleTarget{tick},
			EventPattern: &awsevents.EventPattern{Source: jsii.Strings("aws.ecs"), DetailType: jsii.Strings("ECS Task State Change"),
				Detail: &map[string]any{"clusterArn": []*string{z.commands.cluster.AttrArn()}, "lastStatus": jsii.Strings("STOPPED")}}})
	}
	z.allowStarts()
}

// allowStarts lets what the account's owner makes later start workflows: rules of any bus
// of the account, and schedules of EventBridge Scheduler in the role made for them.
func (z *stack) allowStarts() {
	z.functions["tick"].AddPermission(jsii.String("Rules"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil), SourceAccount: z.Account(),
		SourceArn: z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("events"), Resource: jsii.String("rule"), ResourceName: jsii.String("*")})})
	z.scheduler = awsiam.NewRole(z.Stack, jsii.String("StartSchedules"), &awsiam.RoleProps{RoleName: z.name("scheduler"),
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": z.Account()}}})})
	for _, r := range []struct {
		action   string
		resource *string
	}{{"lambda:InvokeFunction", z.functions["tick"].FunctionArn()}, {"events:PutEvents", z.bus.EventBusArn()}} {
		z.scheduler.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(r.action), Resources: &[]*string{r.resource}}))
	}
}
