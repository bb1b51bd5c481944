package deployment

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

const (
	eventBatch = 10 // events that the executor gets at once
	// EventBridge tries to deliver an event for a day before it puts it aside. A failed call of the tick is retried
	// twice, and is put aside after that or when it has waited for tickAge seconds.
	tickTries = 2
	tickAge   = 6 * 3600
	minuteAge = 60 // seconds; after that the next call is due
)

// createBus creates the bus for incoming and outgoing events, and the topic of notices and alarms.
func (d *Deployment) createBus() {
	d.bus = awsevents.NewEventBus(d.scope, jsii.String("Bus"), &awsevents.EventBusProps{EventBusName: d.name("bus"), KmsKey: d.key})
	d.topic = awssns.NewTopic(d.scope, jsii.String("Topic"), &awssns.TopicProps{TopicName: d.name("notices"), EnforceSSL: jsii.Bool(true), MasterKey: d.key})
	// A topic with its own policy loses SNS's default policy, which lets alarms of the account reach it.
	d.topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Sid: jsii.String("AllowAlarms"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"), Resources: &[]*string{d.topic.TopicArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}}}))
	if d.AlarmEmail != "" {
		d.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(d.AlarmEmail), nil))
	}
}

// createTriggers connects the functions with their triggers. Both queues leave capacity for the API and for each other:
// without a limit, a thousand attempts at midnight would use up the account's concurrency, and a throttled message
// comes back only after its queue's visibility timeout.
func (d *Deployment) createTriggers() {
	d.functions["executor"].AddEventSource(awslambdaeventsources.NewSqsEventSource(d.events.live, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize: jsii.Number(eventBatch), ReportBatchItemFailures: jsii.Bool(true), MaxConcurrency: jsii.Number(d.EventConcurrency())}))
	d.functions["agent"].AddEventSource(awslambdaeventsources.NewSqsEventSource(d.tasks.live, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize: jsii.Number(1), ReportBatchItemFailures: jsii.Bool(true), MaxConcurrency: jsii.Number(d.Agents)}))
	d.minute = d.minuteTick()
	// Calls late in each minute may be dropped; a start of a workflow is never dropped.
	tick := awseventstargets.NewLambdaFunction(d.minute, &awseventstargets.LambdaFunctionProps{RetryAttempts: jsii.Number(tickTries), MaxEventAge: seconds(minuteAge)})
	start := awseventstargets.NewLambdaFunction(d.functions["tick"], &awseventstargets.LambdaFunctionProps{DeadLetterQueue: d.starts})
	d.functions["tick"].ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{RetryAttempts: jsii.Number(tickTries), MaxEventAge: seconds(tickAge),
		OnFailure: awslambdadestinations.NewSqsDestination(d.starts)})
	// If an upload fails, its client only sees a timeout; the message raises an alarm.
	d.functions["upload"].ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{RetryAttempts: jsii.Number(tickTries), MaxEventAge: seconds(tickAge),
		OnFailure: awslambdadestinations.NewSqsDestination(d.starts)})
	awsevents.NewRule(d.scope, jsii.String("EveryMinute"), &awsevents.RuleProps{
		Schedule: awsevents.Schedule_Rate(minutes(1)), Targets: &[]awsevents.IRuleTarget{tick}})
	awsevents.NewRule(d.scope, jsii.String("Starts"), &awsevents.RuleProps{EventBus: d.bus,
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("zerodag.start")}, Targets: &[]awsevents.IRuleTarget{start}})
	if d.commands != nil {
		awsevents.NewRule(d.scope, jsii.String("Machines"), &awsevents.RuleProps{Targets: &[]awsevents.IRuleTarget{start},
			EventPattern: &awsevents.EventPattern{Source: jsii.Strings("aws.ecs"), DetailType: jsii.Strings("ECS Task State Change"),
				Detail: &map[string]any{"clusterArn": []*string{d.commands.cluster.AttrArn()}, "lastStatus": jsii.Strings("STOPPED")}}})
	}
	d.allowStarts()
}

// minuteTick returns an alias of the tick for the calls of each minute. The next call does the work of a failed one, so
// failed calls of the alias are dropped. In the queue of failed starts, they would raise an alarm although nothing is
// lost.
func (d *Deployment) minuteTick() awslambda.IFunction {
	alias := awslambda.NewAlias(d.scope, jsii.String("MinuteTick"), &awslambda.AliasProps{AliasName: jsii.String("minute"), Version: d.functions["tick"].LatestVersion(),
		RetryAttempts: jsii.Number(tickTries), MaxEventAge: seconds(minuteAge)})
	return alias
}

// allowStarts lets resources that the account's owner creates later start workflows: rules of any bus of the account,
// and schedules of EventBridge Scheduler with the role created for them. The role has no name because all regions share
// IAM's names.
func (d *Deployment) allowStarts() {
	d.allowRules(d.functions["tick"])
	d.scheduler = awsiam.NewRole(d.scope, jsii.String("StartSchedules"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}}})})
	if d.key != nil {
		d.scheduler.AddToPolicy(d.mayEncrypt())
	}
	for _, r := range []struct {
		action   string
		resource *string
	}{{"lambda:InvokeFunction", d.functions["tick"].FunctionArn()}, {"events:PutEvents", d.bus.EventBusArn()}, {"sqs:SendMessage", d.starts.QueueArn()}} {
		d.scheduler.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(r.action), Resources: &[]*string{r.resource}}))
	}
}

// rulesPermission is the id of a permission that allowRules adds.
const rulesPermission = "Rules"

// allowRules lets all rules of the account call a function.
func (d *Deployment) allowRules(f awslambda.IFunction) {
	f.AddPermission(jsii.String(rulesPermission), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil), SourceAccount: d.stack.Account(),
		SourceArn: d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("events"), Resource: jsii.String("rule"), ResourceName: jsii.String("*")})})
}
