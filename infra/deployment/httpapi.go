package deployment

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53targets"
	"github.com/aws/jsii-runtime-go"
)

// httpAPI is an API that the internet can reach.
type httpAPI struct {
	*Deployment
	made awsapigatewayv2.HttpApi
}

func (d *Deployment) newHTTPAPI() gateway {
	p := &awsapigatewayv2.HttpApiProps{ApiName: d.name("api"), CreateDefaultStage: jsii.Bool(false)}
	if d.DomainOnly {
		p.DisableExecuteApiEndpoint = jsii.Bool(true)
	}
	return httpAPI{d, awsapigatewayv2.NewHttpApi(d.scope, jsii.String("Api"), p)}
}

func (a httpAPI) id() *string { return a.made.ApiId() }

func (a httpAPI) address() *string {
	if a.DomainOnly {
		return nil
	}
	return a.made.ApiEndpoint()
}

func (a httpAPI) errors(o *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return a.made.MetricServerError(o)
}

func (a httpAPI) create(list []route) {
	signed := awsapigatewayv2authorizers.NewHttpIamAuthorizer()
	integrations := map[string]awsapigatewayv2.HttpRouteIntegration{}
	limits := map[string]any{}
	var routes []awsapigatewayv2.HttpRoute
	for _, r := range list {
		to := integrations[r.integration()]
		if to == nil {
			name := strings.ToUpper(r.function[:1]) + r.function[1:] + "Function"
			to = awsapigatewayv2integrations.NewHttpLambdaIntegration(&name, a.functions[r.function], nil)
			integrations[r.integration()] = to
		}
		o := &awsapigatewayv2.AddRoutesOptions{Path: &r.path, Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod(r.method)}, Integration: to}
		if r.signed {
			o.Authorizer = signed
		}
		made := *a.made.AddRoutes(o)
		for _, m := range made {
			if r.page {
				a.stay(m)
			}
		}
		routes = append(routes, made...)
		if r.rate > 0 {
			limits[r.method+" "+r.path] = map[string]any{"ThrottlingRateLimit": r.rate, "ThrottlingBurstLimit": r.burst}
		}
	}
	stage := a.createStage(limits)
	for _, r := range routes { // API Gateway refuses limits of a route that does not exist yet
		stage.AddDependency(r.Node().DefaultChild().(awsapigatewayv2.CfnRoute))
	}
	a.createDomain(stage)
}

// createStage creates the only stage of the API, with the limits of routes and a log of requests.
func (a httpAPI) createStage(limits map[string]any) awsapigatewayv2.CfnStage {
	// Log groups with this prefix need no separate entries in the account's resource policy for logs, whose size is
	// limited.
	access := awslogs.NewLogGroup(a.scope, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/aws/vendedlogs/zerodag/" + a.Stage + "/access"), Retention: a.retention(), EncryptionKey: a.key, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	return awsapigatewayv2.NewCfnStage(a.scope, jsii.String("DefaultStage"), &awsapigatewayv2.CfnStageProps{
		ApiId: a.made.ApiId(), StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: access.LogGroupArn(),
			Format: jsii.String(`{"time":"$context.requestTime","ip":"$context.identity.sourceIp","method":"$context.httpMethod","path":"$context.path","status":"$context.status","size":"$context.responseLength","took":"$context.responseLatency"}`)},
		RouteSettings:        limits,
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{ThrottlingRateLimit: jsii.Number(rateLimit), ThrottlingBurstLimit: jsii.Number(burstLimit)},
	})
}

// createDomain gives the API the user's domain name. Machines keep using its execute-api address, which needs no DNS
// record, unless machinesUrl is set.
func (a httpAPI) createDomain(stage awsapigatewayv2.CfnStage) {
	if a.Domain == "" {
		return
	}
	certificate := awscertificatemanager.Certificate_FromCertificateArn(a.scope, jsii.String("Certificate"), jsii.String(a.Certificate))
	domain := awsapigatewayv2.NewDomainName(a.scope, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{Certificate: certificate, DomainName: jsii.String(a.Domain)})
	awsapigatewayv2.NewCfnApiMapping(a.scope, jsii.String("Mapping"), &awsapigatewayv2.CfnApiMappingProps{
		ApiId: a.made.ApiId(), DomainName: domain.Name(), Stage: stage.StageName()}).AddDependency(stage)
	a.output("DomainTarget", domain.RegionalDomainName(), "The DNS record of "+a.Domain+" must be a CNAME for this name, or an alias in Route 53")
	a.output("DomainTargetZone", domain.RegionalHostedZoneId(), "The hosted zone ID of DomainTarget, for an alias")
	if a.HostedZone.ID == "" {
		return
	}
	zone := awsroute53.HostedZone_FromHostedZoneAttributes(a.scope, jsii.String("Zone"), &awsroute53.HostedZoneAttributes{
		HostedZoneId: jsii.String(a.HostedZone.ID), ZoneName: jsii.String(a.HostedZone.Name)})
	target := awsroute53.RecordTarget_FromAlias(awsroute53targets.NewApiGatewayv2DomainProperties(domain.RegionalDomainName(), domain.RegionalHostedZoneId()))
	awsroute53.NewARecord(a.scope, jsii.String("DomainRecord"), &awsroute53.ARecordProps{Zone: zone, RecordName: jsii.String(a.Domain + "."), Target: target})
}
