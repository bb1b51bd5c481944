package deployment

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53targets"
	"github.com/aws/jsii-runtime-go"
)

// Requests a second that the API takes, and how many at once. The sum over all routes stays below the quota
// of an account in the smaller regions: 2,500 a second and 1,250 at once for all of its APIs.
const (
	rateLimit   = 200
	burstLimit  = 400
	runnerRate  = 1000 // of the machines of commands, besides
	runnerBurst = 800
	// streamRate is of event streams, by each way of saying who calls. Each takes a call of the function for
	// five seconds (cloud.streamTime), so those of both ways together leave some of what reserve keeps for it.
	streamRate = 4
)

// createEndpoint makes what the API is known by: functions are told before it has routes.
func (d *Deployment) createEndpoint() {
	p := &awsapigatewayv2.HttpApiProps{ApiName: d.name("api"), CreateDefaultStage: jsii.Bool(false)}
	if d.DomainOnly {
		p.DisableExecuteApiEndpoint = jsii.Bool(true)
	}
	d.api = awsapigatewayv2.NewHttpApi(d.scope, jsii.String("Api"), p)
}

// createAPI makes the routes of the HTTP API: all paths by token, and below /iam the same by signed
// requests of the account (SigV4).
func (d *Deployment) createAPI() {
	function := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("ApiFunction"), d.functions["api"], nil)
	signed := awsapigatewayv2authorizers.NewHttpIamAuthorizer()
	var routes []awsapigatewayv2.HttpRoute
	add := func(method awsapigatewayv2.HttpMethod, path string, to awsapigatewayv2.HttpRouteIntegration, who awsapigatewayv2.IHttpRouteAuthorizer) {
		routes = append(routes, *d.api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: &path, Methods: &[]awsapigatewayv2.HttpMethod{method}, Integration: to, Authorizer: who})...)
	}
	add(awsapigatewayv2.HttpMethod_ANY, "/{path+}", function, nil)
	add(awsapigatewayv2.HttpMethod_GET, "/", function, nil) // the web console; what it asks for later has a path
	add(awsapigatewayv2.HttpMethod_ANY, "/iam/{path+}", function, signed)
	const streams = "/api/attempts/{id}/events"
	add(awsapigatewayv2.HttpMethod_GET, streams, function, nil)
	add(awsapigatewayv2.HttpMethod_GET, "/iam"+streams, function, signed)
	slow := map[string]any{"ThrottlingRateLimit": streamRate, "ThrottlingBurstLimit": streamRate}
	limits := map[string]any{"GET " + streams: slow, "GET /iam" + streams: slow}
	if d.commands != nil { // runners ask often, and must not be in the way of people, nor people in theirs
		runners := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("RunnersFunction"), d.functions["runners"], nil)
		add(awsapigatewayv2.HttpMethod_ANY, "/runner/{path+}", runners, nil)
		limits["ANY /runner/{path+}"] = map[string]any{"ThrottlingRateLimit": runnerRate, "ThrottlingBurstLimit": runnerBurst}
	}
	stage := d.createStage(limits)
	for _, r := range routes { // API Gateway refuses limits of a route that is not there yet
		stage.AddDependency(r.Node().DefaultChild().(awsapigatewayv2.CfnRoute))
	}
	d.createDomain(stage)
}

// createStage makes the one stage of the API, with the limits of routes and a log of requests.
func (d *Deployment) createStage(limits map[string]any) awsapigatewayv2.CfnStage {
	// Groups of that prefix need no line each in the account's policy of logs, which is small.
	access := awslogs.NewLogGroup(d.scope, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/aws/vendedlogs/zerodag/" + d.Stage + "/access"), Retention: d.retention(), EncryptionKey: d.key, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	return awsapigatewayv2.NewCfnStage(d.scope, jsii.String("DefaultStage"), &awsapigatewayv2.CfnStageProps{
		ApiId: d.api.ApiId(), StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: access.LogGroupArn(),
			Format: jsii.String(`{"time":"$context.requestTime","ip":"$context.identity.sourceIp","method":"$context.httpMethod","path":"$context.path","status":"$context.status","size":"$context.responseLength","took":"$context.responseLatency"}`)},
		RouteSettings:        limits,
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{ThrottlingRateLimit: jsii.Number(rateLimit), ThrottlingBurstLimit: jsii.Number(burstLimit)},
	})
}

// createDomain gives the API the user's domain name. Machines keep using its execute-api address, which needs no DNS
// record, unless machinesUrl says otherwise.
func (d *Deployment) createDomain(stage awsapigatewayv2.CfnStage) {
	if d.Domain == "" {
		return
	}
	certificate := awscertificatemanager.Certificate_FromCertificateArn(d.scope, jsii.String("Certificate"), jsii.String(d.Certificate))
	domain := awsapigatewayv2.NewDomainName(d.scope, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{Certificate: certificate, DomainName: jsii.String(d.Domain)})
	awsapigatewayv2.NewCfnApiMapping(d.scope, jsii.String("Mapping"), &awsapigatewayv2.CfnApiMappingProps{
		ApiId: d.api.ApiId(), DomainName: domain.Name(), Stage: stage.StageName()}).AddDependency(stage)
	d.output("DomainTarget", domain.RegionalDomainName(), "The DNS record of "+d.Domain+" is a CNAME of this, or an alias in Route 53")
	d.output("DomainTargetZone", domain.RegionalHostedZoneId(), "The hosted zone of DomainTarget, for an alias")
	if d.HostedZone.ID == "" {
		return
	}
	zone := awsroute53.HostedZone_FromHostedZoneAttributes(d.scope, jsii.String("Zone"), &awsroute53.HostedZoneAttributes{
		HostedZoneId: jsii.String(d.HostedZone.ID), ZoneName: jsii.String(d.HostedZone.Name)})
	target := awsroute53.RecordTarget_FromAlias(awsroute53targets.NewApiGatewayv2DomainProperties(domain.RegionalDomainName(), domain.RegionalHostedZoneId()))
	awsroute53.NewARecord(d.scope, jsii.String("DomainRecord"), &awsroute53.ARecordProps{Zone: zone, RecordName: jsii.String(d.Domain + "."), Target: target})
}

// output prints a value at the end of a deploy.
func (d *Deployment) output(id string, value *string, what string) {
	awscdk.NewCfnOutput(d.scope, jsii.String(id), &awscdk.CfnOutputProps{Value: value, Description: jsii.String(what)})
}

// createOutputs prints where the API is, and how the first token is made.
func (d *Deployment) createOutputs() {
	d.output("Url", d.URL(), "The REST API: zerodag projects -e URL --token TOKEN")
	d.output("ApiId", d.api.ApiId(), "The id of the HTTP API")
	d.output("FirstToken", jsii.String("aws lambda invoke --function-name "+*d.name("api")+" --cli-binary-format raw-in-base64-out --payload '{\"zerodag\":\"first-token\"}' /dev/stdout"),
		"Run this once: it makes the first admin token")
	d.output("BusName", d.bus.EventBusName(), "The event bus: what becomes of attempts, and events of source zerodag.start")
	d.output("StartFunction", d.functions["tick"].FunctionArn(), "The target of schedules and rules that start workflows")
	d.output("SchedulerRole", d.scheduler.RoleArn(), "The role of EventBridge Scheduler schedules that start workflows")
	d.output("NoticesTopic", d.topic.TopicArn(), "The topic of notices and alarms: subscribe to it")
	d.output("StartsDeadQueue", d.starts.QueueUrl(), "The queue of events and schedules that could not start a workflow")
	d.output("ArchivesBucket", d.archives.BucketName(), "The bucket of archives and uploads")
}
