package deployment

import (
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// privateAPI is an API that only networks with one of certain endpoints can reach. HTTP APIs cannot be private, so it
// is a REST API. Clients use only its domain: API Gateway's address has the stage in its paths, which clients do not
// expect.
type privateAPI struct {
	*Deployment
	made awsapigateway.RestApi
}

func (d *Deployment) newPrivateAPI() gateway {
	var endpoints []awsec2.IVpcEndpoint
	for _, id := range d.APIEndpoints {
		endpoints = append(endpoints, awsec2.InterfaceVpcEndpoint_FromInterfaceVpcEndpointAttributes(d.scope, jsii.String("Endpoint-"+id),
			&awsec2.InterfaceVpcEndpointAttributes{VpcEndpointId: jsii.String(id), Port: jsii.Number(443)}))
	}
	p := &awsapigateway.RestApiProps{
		RestApiName: d.name("api"), Policy: d.reachable(),
		EndpointConfiguration: &awsapigateway.EndpointConfiguration{Types: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_PRIVATE}, VpcEndpoints: &endpoints},
		BinaryMediaTypes:      jsii.Strings("*/*"), // archives and logs; text sent as text stays text
		CloudWatchRole:        jsii.Bool(false),    // all APIs of the account share the role
		DeployOptions:         &awsapigateway.StageOptions{StageName: jsii.String("zerodag")},
	}
	if d.DomainOnly {
		p.DisableExecuteApiEndpoint = jsii.Bool(true)
	}
	return privateAPI{d, awsapigateway.NewRestApi(d.scope, jsii.String("PrivateApi"), p)}
}

// reachable lets callers reach the API only through the endpoints. A resource policy allows a call to principals of the
// account even if IAM does not. Therefore it allows only requests without a principal, which carry a token for the
// function; signed requests (/iam) need execute-api:Invoke in a policy of the signer.
func (d *Deployment) reachable() awsiam.PolicyDocument {
	return d.throughEndpoints(map[string]any{"Null": map[string]any{"aws:PrincipalArn": "true"}})
}

// throughEndpoints denies every call that does not come through the endpoints, and allows the others under conditions.
func (d *Deployment) throughEndpoints(conditions map[string]any) awsiam.PolicyDocument {
	through := map[string]any{"aws:SourceVpce": d.APIEndpoints}
	statement := func(effect awsiam.Effect, conditions map[string]any) awsiam.PolicyStatement {
		return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Effect: effect, Principals: &[]awsiam.IPrincipal{awsiam.NewStarPrincipal()},
			Actions: jsii.Strings("execute-api:Invoke"), Resources: jsii.Strings("execute-api:/*"), Conditions: &conditions})
	}
	allowed := map[string]any{"StringEquals": through}
	maps.Copy(allowed, conditions)
	return awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &[]awsiam.PolicyStatement{
		statement(awsiam.Effect_DENY, map[string]any{"StringNotEquals": through}), statement(awsiam.Effect_ALLOW, allowed)}})
}

func (a privateAPI) id() *string { return a.made.RestApiId() }

func (a privateAPI) address() *string { return nil }

func (a privateAPI) errors(o *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return a.made.MetricServerError(o)
}

func (a privateAPI) create(routes []route) {
	integrations := map[string]awsapigateway.Integration{}
	for _, r := range covered(routes) {
		to := integrations[r.function]
		if to == nil {
			to = a.integration(r.function)
			integrations[r.function] = to
		}
		o := &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_NONE}
		if r.signed {
			o.AuthorizationType = awsapigateway.AuthorizationType_IAM
		}
		made := a.made.Root().ResourceForPath(jsii.String(strings.TrimPrefix(r.path, "/"))).AddMethod(&r.method, to, o)
		if r.page {
			a.stay(made)
		}
	}
	if a.IsGradual() { // the CDK creates a new deployment of the API if methods change, but does not notice changes by redirect
		a.made.LatestDeployment().AddToLogicalId("gradual")
	}
	a.limit(routes)
	a.createDomain()
}

// greedy ends a path that matches any longer one.
const greedy = "/{path+}"

// covered adds the routes that a REST API also needs to the routes of an HTTP API. In a REST API, a path consists of
// resources, one for each of its parts. A request that reaches a resource without a method for it is refused, and does
// not fall back to {path+} further up.
func covered(routes []route) (all []route) {
	there := map[string]bool{}
	add := func(r route) {
		if key := r.method + " " + r.path; !there[key] {
			there[key] = true
			all = append(all, r)
		}
	}
	for _, r := range routes {
		for _, m := range methods(r) {
			add(route{method: m, path: r.path, function: r.function, signed: r.signed, page: r.page})
		}
	}
	for _, r := range routes {
		parts := strings.Split(r.path, "/")[1:]
		for i := range parts {
			at := "/" + strings.Join(parts[:i+1], "/")
			if r.path == "/" || strings.HasSuffix(at, greedy) {
				continue
			}
			rest := nearest(routes, at)
			add(route{method: anyMethod, path: at, function: rest.function, signed: rest.signed, page: rest.page})
			if i+1 < len(parts) && !strings.HasPrefix(parts[i+1], "{") { // a resource can have only one variable child
				add(route{method: anyMethod, path: at + greedy, function: rest.function, signed: rest.signed, page: rest.page})
			}
		}
	}
	return all
}

// methods returns the methods of a route. API Gateway can only limit a method by name, and machines use two.
func methods(r route) []string {
	if r.method == anyMethod && r.rate > 0 {
		return []string{"GET", "POST"}
	}
	return []string{r.method}
}

// nearest returns the route for all of a path's siblings, and thus for the path itself if it has no separate route.
func nearest(routes []route, path string) (best route) {
	for _, r := range routes {
		if above, is := strings.CutSuffix(r.path, greedy); is && strings.HasPrefix(path, above+"/") && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best
}

// integration returns the integration of a function. One permission covers all methods, because separate ones would
// fill the function's policy.
func (a privateAPI) integration(function string) awsapigateway.Integration {
	f := a.functions[function]
	awslambda.NewCfnPermission(a.scope, jsii.String("Calls-"+function), &awslambda.CfnPermissionProps{Action: jsii.String("lambda:InvokeFunction"), FunctionName: f.FunctionArn(),
		Principal: jsii.String("apigateway.amazonaws.com"), SourceArn: a.made.ArnForExecuteApi(nil, jsii.String("/*"), nil)})
	return awsapigateway.NewIntegration(&awsapigateway.IntegrationProps{Type: awsapigateway.IntegrationType_AWS_PROXY, IntegrationHttpMethod: jsii.String("POST"),
		Uri: jsii.String(fmt.Sprintf("arn:%s:apigateway:%s:lambda:path/2015-03-31/functions/%s/invocations", *a.stack.Partition(), *a.stack.Region(), *f.FunctionArn()))})
}

// limit gives methods the limits of their routes, and all others the common ones.
func (a privateAPI) limit(routes []route) {
	limits := []any{&awsapigateway.CfnStage_MethodSettingProperty{ResourcePath: jsii.String("/*"), HttpMethod: jsii.String("*"), DataTraceEnabled: jsii.Bool(false),
		ThrottlingRateLimit: jsii.Number(rateLimit), ThrottlingBurstLimit: jsii.Number(burstLimit)}}
	for _, r := range routes {
		for _, m := range methods(r) {
			if r.rate > 0 {
				limits = append(limits, &awsapigateway.CfnStage_MethodSettingProperty{ResourcePath: jsii.String("/" + strings.ReplaceAll(r.path, "/", "~1")), HttpMethod: &m,
					ThrottlingRateLimit: jsii.Number(r.rate), ThrottlingBurstLimit: jsii.Number(r.burst)})
			}
		}
	}
	a.made.DeploymentStage().Node().DefaultChild().(awsapigateway.CfnStage).SetMethodSettings(limits)
}

// createDomain gives the API its domain, which the endpoints may use. CloudFormation does not know the name of an
// endpoint, to which the DNS record of the domain must lead.
func (a privateAPI) createDomain() {
	domain := awsapigateway.NewCfnDomainNameV2(a.scope, jsii.String("PrivateDomain"), &awsapigateway.CfnDomainNameV2Props{
		DomainName: jsii.String(a.Domain), CertificateArn: jsii.String(a.Certificate), SecurityPolicy: jsii.String("TLS_1_2"),
		EndpointConfiguration: &awsapigateway.CfnDomainNameV2_EndpointConfigurationProperty{Types: jsii.Strings("PRIVATE")},
		Policy:                a.throughEndpoints(nil)}) // the API's own policy determines what may be called there
	awsapigateway.NewCfnBasePathMappingV2(a.scope, jsii.String("PrivateMapping"), &awsapigateway.CfnBasePathMappingV2Props{
		DomainNameArn: domain.AttrDomainNameArn(), RestApiId: a.made.RestApiId(), Stage: a.made.DeploymentStage().StageName()})
	for _, id := range a.APIEndpoints {
		awsapigateway.NewCfnDomainNameAccessAssociation(a.scope, jsii.String("Access-"+id), &awsapigateway.CfnDomainNameAccessAssociationProps{
			DomainNameArn: domain.AttrDomainNameArn(), AccessAssociationSource: jsii.String(id), AccessAssociationSourceType: jsii.String("VPCE")})
	}
	a.output("DomainTarget", jsii.String(strings.Join(a.APIEndpoints, ", ")), "The DNS record of "+a.Domain+", in a private zone, must be an alias of one of these endpoints")
}
