package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// Requests a second that the API takes, and how many more for a moment.
const (
	rateLimit  = 200
	burstLimit = 400
	runnerRate = 2000 // of the machines of commands, besides
)

// createEndpoint makes what the API is known by: functions are told before it has routes.
func (z *stack) createEndpoint() {
	p := &awsapigatewayv2.HttpApiProps{ApiName: z.name("api"), CreateDefaultStage: jsii.Bool(false)}
	z.api = awsapigatewayv2.NewHttpApi(z.Stack, jsii.String("Api"), p)
}

// createAPI makes the routes of the HTTP API: all paths by token, and below /iam the same by signed
// requests of the account (SigV4).
func (z *stack) createAPI() {
	function := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("ApiFunction"), z.functions["api"], nil)
	all := &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_ANY}
	z.api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String("/{path+}"), Methods: all, Integration: function})
	z.api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String("/iam/{path+}"), Methods: all, Integration: function,
		Authorizer: awsapigatewayv2authorizers.NewHttpIamAuthorizer()})
	settings := map[string]any{}
	if z.commands != nil { // runners ask often, and must not be in the way of people, nor people in theirs
		runners := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("RunnersFunction"), z.functions["runners"], nil)
		z.api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String("/runner/{path+}"), Methods: all, Integration: runners})
		settings["ANY /runner/{path+}"] = map[string]any{"ThrottlingRateLimit": runnerRate, "ThrottlingBurstLimit": 2 * runnerRate}
	}
	access := awslogs.NewLogGroup(z.Stack, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + z.Stage + "/access"), Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	stage := awsapigatewayv2.NewCfnStage(z.Stack, jsii.String("DefaultStage"), &awsapigatewayv2.CfnStageProps{
		ApiId: z.api.ApiId(), StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: access.LogGroupArn(),
			Format: jsii.String(`{"time":"$context.requestTime","ip":"$context.identity.sourceIp","method":"$context.httpMethod","path":"$context.path","status":"$context.status","size":"$context.responseLength","took":"$context.responseLatency"}`)},
		RouteSettings:        settings,
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{ThrottlingRateLimit: jsii.Number(rateLimit), ThrottlingBurstLimit: jsii.Number(burstLimit)},
	})
	if z.Domain == "" {
		return
	}
	certificate := awscertificatemanager.Certificate_FromCertificateArn(z.Stack, jsii.String("Certificate"), jsii.String(z.Certificate))
	domain := awsapigatewayv2.NewDomainName(z.Stack, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{Certificate: certificate, DomainName: jsii.String(z.Domain)})
	awsapigatewayv2.NewCfnApiMapping(z.Stack, jsii.String("Mapping"), &awsapigatewayv2.CfnApiMappingProps{
		ApiId: z.api.ApiId(), DomainName: domain.Name(), Stage: stage.StageName()}).AddDependency(stage)
}

// createOutputs prints where the API is, and how the first token is made.
func (z *stack) createOutputs() {
	output := func(id string, value *string, what string) {
		awscdk.NewCfnOutput(z.Stack, jsii.String(id), &awscdk.CfnOutputProps{Value: value, Description: jsii.String(what)})
	}
	output("Url", z.api.ApiEndpoint(), "The REST API: zerodag projects -e URL --token TOKEN")
	output("ApiId", z.api.ApiId(), "The id of the HTTP API")
	output("FirstToken", jsii.String("aws lambda invoke --function-name "+*z.name("api")+" --cli-binary-format raw-in-base64-out --payload '{\"zerodag\":\"first-token\"}' /dev/stdout"),
		"Run this once: it makes the first admin token")
	output("BusName", z.bus.EventBusName(), "The event bus: what becomes of attempts, and events of source zerodag.start")
	output("StartFunction", z.functions["tick"].FunctionArn(), "The target of schedules and rules that start workflows")
	output("SchedulerRole", z.scheduler.RoleArn(), "The role of EventBridge Scheduler schedules that start workflows")
	output("NoticesTopic", z.topic.TopicArn(), "The topic of notices and alarms: subscribe to it")
	output("ArchivesBucket", z.archives.BucketName(), "The bucket of archives and uploads")
}
