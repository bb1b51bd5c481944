package deployment

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Requests that the API accepts per second and at once. The sum over all routes stays below an account's quota in the
// smaller regions: 2,500 per second and 1,250 at once for all of its APIs.
const (
	rateLimit   = 200
	burstLimit  = 400
	runnerRate  = 1000 // additional requests of the commands' machines
	runnerBurst = 800
	// streamRate limits event streams, separately for tokens and signed requests. Each stream occupies a call of the
	// function for five seconds (cloud.streamTime), which makes 40 in total, so ten of the 50 calls that reserve keeps
	// remain for other requests. Without reserve, none remain in an account with a low limit on concurrency.
	streamRate = 4
)

// gateway is the API in API Gateway: an HTTP API, or a REST API for private networks.
type gateway interface {
	id() *string
	// address returns API Gateway's address, or nil if there is none that clients may use.
	address() *string
	errors(*awscloudwatch.MetricOptions) awscloudwatch.Metric
	create([]route)
}

// route directs requests to a function.
type route struct {
	method, path string // {path+} matches the rest of any path
	function     string
	signed       bool // by a principal of the account (SigV4)
	page         bool // serves the web console on a stage with gradual deploys: its files must be from the same build
	rate, burst  int  // its own limits; 0: the limits that all routes share
}

const anyMethod = "ANY"

// createEndpoint creates the address of the API, which functions need before it has routes.
func (d *Deployment) createEndpoint() {
	if d.Private() {
		d.api = d.newPrivateAPI()
		return
	}
	d.api = d.newHTTPAPI()
}

// createAPI creates the routes of the API: all paths with a token, and the same paths below /iam for signed requests of
// the account (SigV4).
func (d *Deployment) createAPI() {
	const streams = "/api/attempts/{id}/events"
	routes := []route{
		{method: anyMethod, path: "/{path+}", function: "api"},
		{method: "GET", path: "/", function: "api"}, // the web console; its later requests have a path
		{method: anyMethod, path: "/iam/{path+}", function: "api", signed: true},
		{method: "GET", path: streams, function: "api", rate: streamRate, burst: streamRate},
		{method: "GET", path: "/iam" + streams, function: "api", signed: true, rate: streamRate, burst: streamRate},
	}
	if d.IsGradual() { // the API gets a route separate from the page's
		routes[0].page, routes[1].page = true, true
		routes = append(routes, route{method: anyMethod, path: "/api/{path+}", function: "api"})
	}
	if d.commands != nil { // runners poll often, and runners and users must not delay each other
		routes = append(routes, route{method: anyMethod, path: "/runner/{path+}", function: "runners", rate: runnerRate, burst: runnerBurst})
	}
	d.api.create(routes)
}

// integration returns the key of the integration that a route uses.
func (r route) integration() string { return fmt.Sprint(r.function, r.page) }

// stay makes everything in a construct call $LATEST even if deploys are gradual.
func (d *Deployment) stay(c constructs.IConstruct) {
	for _, inner := range *c.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		d.latest[*inner.Node().Path()] = true
	}
}

// output prints a value at the end of a deploy.
func (d *Deployment) output(id string, value *string, what string) {
	awscdk.NewCfnOutput(d.scope, jsii.String(id), &awscdk.CfnOutputProps{Value: value, Description: jsii.String(what)})
}

// createOutputs prints the address of the API and how to make the first token.
func (d *Deployment) createOutputs() {
	alias := ""
	if d.IsGradual() {
		alias = ":" + liveAlias
	}
	d.output("Url", d.URL(), "The REST API: zerodag projects -e URL --token TOKEN")
	d.output("ApiId", d.api.id(), "The ID of the API")
	d.output("FirstToken", jsii.String("aws lambda invoke --function-name "+*d.name("api")+alias+" --cli-binary-format raw-in-base64-out --payload '{\"zerodag\":\"first-token\"}' /dev/stdout"),
		"Run this once to create the first admin token")
	d.output("BusName", d.bus.EventBusName(), "The event bus: starts and results of attempts, and events of source zerodag.start")
	d.output("StartFunction", d.StartFunction().FunctionArn(), "The target for schedules and rules that start workflows")
	d.output("SchedulerRole", d.scheduler.RoleArn(), "The role for EventBridge Scheduler schedules that start workflows")
	d.output("NoticesTopic", d.topic.TopicArn(), "The topic of notifications and alarms: subscribe to it")
	d.output("StartsDeadQueue", d.starts.QueueUrl(), "The queue of events and schedules that could not start a workflow")
	d.output("ArchivesBucket", d.archives.BucketName(), "The bucket of archives and uploads")
}
