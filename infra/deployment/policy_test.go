package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

// managedPolicySize is the largest managed policy that IAM accepts, in characters without white space.
const managedPolicySize = 6144

type policy struct{ Statement []map[string]any }

func readPolicy(t *testing.T, name string) policy {
	t.Helper()
	text, err := os.ReadFile("../policy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Join(strings.Fields(string(text)), "")); n > managedPolicySize {
		t.Errorf("%s has %d characters, IAM takes %d", name, n, managedPolicySize)
	}
	var p policy
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// request is an action on a resource, with the values that conditions may compare.
type request struct {
	action, resource string
	context          map[string]string
}

// allows reports whether some statement allows a request, as IAM compares them.
func (p policy) allows(r request) bool {
	matches := func(pattern, text string) bool {
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = strings.ReplaceAll(regexp.QuoteMeta(parts[i]), `\?`, ".")
		}
		return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(text)
	}
	for _, s := range p.Statement {
		if s["Effect"] == "Allow" &&
			slices.ContainsFunc(texts(s["Action"]), func(a string) bool { return matches(strings.ToLower(a), strings.ToLower(r.action)) }) &&
			slices.ContainsFunc(texts(s["Resource"]), func(on string) bool { return matches(on, r.resource) }) &&
			fulfilled(s["Condition"], r.context, matches) {
			return true
		}
	}
	return false
}

// fulfilled reports whether all conditions of a statement hold: a condition on a key that the request lacks does not.
func fulfilled(conditions any, context map[string]string, matches func(pattern, text string) bool) bool {
	all, _ := conditions.(map[string]any)
	for operator, keys := range all {
		for key, patterns := range keys.(map[string]any) {
			value, there := context[key]
			if !there || !slices.ContainsFunc(texts(patterns), func(pattern string) bool {
				if operator == "StringEquals" {
					return pattern == value
				}
				return matches(pattern, value)
			}) {
				return false
			}
		}
	}
	return true
}

// schemas holds facts from the CloudFormation registry and from IAM, which infra/policy/schemas.py derives.
type schemas struct {
	Types map[string]struct {
		Create, Read, Update, Delete, CreateOnly, Identifier []string
	}
	Anywhere []string // actions that IAM cannot restrict to a resource
}

func readSchemas(t *testing.T) schemas {
	t.Helper()
	text, err := os.ReadFile("../policy/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schemas
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("schemas.json: %v", err)
	}
	return s
}

// everything enables all settings that add resources to a stage, except a VPC of the user.
func everything(s *settings.Settings) {
	s.Domain, s.Certificate, s.HostedZone = "flows.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x", settings.Zone{ID: "Z1", Name: "example.com"}
	s.AlarmEmail, s.Tags = "ops@example.com", map[string]string{"team": "data"}
	s.Cognito, s.Dashboard, s.CommandFunction, s.Spot, s.Reserve = true, true, true, true, true
	s.Boundary, s.Gradual = "zerodag-boundary", "Canary10Percent5Minutes"
}

// privateWithMicrovms enables the settings that everything lacks: an API for private networks, and MicroVMs.
func privateWithMicrovms(s *settings.Settings) {
	everything(s)
	hidden(s)
	s.HostedZone, s.Microvms = settings.Zone{}, "allowed"
}

// notGranted returns the permissions of handlers that infra/policy/execution.json omits, by type and permission, and
// why.
func notGranted() map[[2]string]string {
	const (
		noKey      = "without kmsKey no resource has a key of the account, and with it the policy of that key grants them to the deploy"
		noMail     = "the pool sends mail and codes by Cognito itself, not by SES, SNS or Pinpoint"
		noOthers   = "policies of the stage belong to roles"
		noImport   = "the table is created empty"
		noGateway  = "the network has an internet gateway, and no VPN gateway"
		noFile     = "the API is written in the template, not in a file"
		noTransfer = "the bucket has no metadata tables"
	)
	return map[[2]string]string{
		{"AWS::*", "kms:*"}: noKey,

		{"AWS::ApiGateway::DomainNameAccessAssociation", "apigateway:RejectAccessAssociation"}: "associations are made by the account of the domain, which deletes them",
		{"AWS::ApiGateway::Method", "iam:PassRole"}:                                            "API Gateway calls functions by their permissions, not by a role",
		{"AWS::ApiGateway::RestApi", "iam:PassRole"}:                                           "API Gateway calls functions by their permissions, not by a role",
		{"AWS::ApiGateway::RestApi", "s3:*"}:                                                   noFile,
		{"AWS::ApiGatewayV2::Api", "s3:*"}:                                                     noFile,
		{"AWS::ApiGatewayV2::DomainName", "s3:*"}:                                              "the domain has no truststore: clients show no certificate",
		{"AWS::ApiGatewayV2::Integration", "iam:PassRole"}:                                     "API Gateway calls functions by their permissions, not by a role",
		{"AWS::Cognito::UserPool", "iam:*"}:                                                    noMail,
		{"AWS::Cognito::UserPool", "cognito-idp:AddCustomAttributes"}:                          "people have the attribute email only",
		{"AWS::Cognito::UserPoolClient", "iam:PassRole"}:                                       noMail,
		{"AWS::Cognito::UserPoolClient", "iam:CreateServiceLinkedRole"}:                        noMail,
		{"AWS::Cognito::UserPoolClient", "iam:*RolePolicy"}:                                    noMail,
		{"AWS::Cognito::UserPoolDomain", "cloudfront:updateDistribution"}:                      "the sign-in page has a name of Cognito's, not one of the account's",
		{"AWS::Cognito::UserPoolGroup", "iam:*"}:                                               "groups have no role",
		{"AWS::DynamoDB::Table", "kinesis:*"}:                                                  "the table feeds no stream of Kinesis",
		{"AWS::DynamoDB::Table", "iam:CreateServiceLinkedRole"}:                                "the table is paid by request and has no replicas",
		{"AWS::DynamoDB::Table", "s3:*"}:                                                       noImport,
		{"AWS::DynamoDB::Table", "logs:*"}:                                                     noImport,
		{"AWS::EC2::SecurityGroup", "ec2:UpdateSecurityGroupRule*"}:                            "rules have no description",
		{"AWS::EC2::Subnet", "ec2:*SubnetCidrBlock"}:                                           "subnets have no IPv6 addresses",
		{"AWS::EC2::VPC", "ec2:CreateVpcEncryptionControl"}:                                    "the network demands no encryption between machines",
		{"AWS::EC2::VPC", "ec2:ModifyVpcTenancy"}:                                              "the network has no tenancy",
		{"AWS::EC2::VPCEndpoint", "vpc-lattice:*"}:                                             "the endpoint is a gateway to S3",
		{"AWS::EC2::VPCEndpoint", "vpce:AllowMultiRegion"}:                                     "the endpoint is a gateway to S3 in its own region",
		{"AWS::EC2::VPCGatewayAttachment", "ec2:*VpnGateway*"}:                                 noGateway,
		{"AWS::ECS::Cluster", "ecs:PutAccountSetting*"}:                                        "the cluster changes no setting of the account",
		{"AWS::Events::EventBus", "events:*Permission"}:                                        "the bus has no policy: only the account may put events on it",
		{"AWS::Events::Rule", "iam:PassRole"}:                                                  "rules call the function by its permissions, not by a role",
		{"AWS::IAM::Policy", "iam:*UserPolicy"}:                                                noOthers,
		{"AWS::IAM::Policy", "iam:*GroupPolicy"}:                                               noOthers,
		{"AWS::IAM::Role", "iam:AttachRolePolicy"}:                                             "roles have policies of their own only",
		{"AWS::IAM::Role", "iam:DetachRolePolicy"}:                                             "roles have policies of their own only",
		{"AWS::IAM::Role", "iam:DeleteRolePermissionsBoundary"}:                                "a deployment that could remove the boundary would not be limited by it",
		{"AWS::Lambda::Function", "elasticfilesystem:*"}:                                       "functions mount no file system",
		{"AWS::Lambda::Function", "s3files:*"}:                                                 "functions mount no file system",
		{"AWS::Lambda::Function", "s3:GetObjectVersion"}:                                       "programs are named by their digest; the template names no version",
		{"AWS::Lambda::Function", "lambda:*CodeSigningConfig"}:                                 "programs are not signed",
		{"AWS::Lambda::Function", "lambda:GetLayerVersion"}:                                    "functions have no layers",
		{"AWS::Lambda::Function", "lambda:PassCapacityProvider"}:                               "functions run on no instances of the account",
		{"AWS::CodeDeploy::DeploymentGroup", "codedeploy:RegisterOnPremisesInstance"}:          "aliases are no machines",
		{"AWS::Logs::LogGroup", "firehose:TagDeliveryStream"}:                                  "logs are delivered to no stream",
		{"AWS::Logs::LogGroup", "s3:REST.PUT.OBJECT"}:                                          "logs are delivered to no bucket",
		{"AWS::Logs::LogGroup", "logs:*IndexPolic*"}:                                           "log groups have no index; each has a name, by which it is looked up",
		{"AWS::Logs::LogGroup", "logs:DeleteResourcePolicy"}:                                   "the policy of logs belongs to the account and other APIs use it",
		{"AWS::S3::Bucket", "s3tables:*"}:                                                      noTransfer,
		{"AWS::S3::Bucket", "iam:PassRole"}:                                                    "buckets are not replicated",
		{"AWS::SNS::Subscription", "iam:PassRole"}:                                             "a subscription by mail has no role",
		{"AWS::SNS::Topic", "iam:PassRole"}:                                                    "the topic writes no log of deliveries",
		{"AWS::SecretsManager::Secret", "secretsmanager:GetRandomPassword"}:                    "Cognito makes the secret",
	}
}

// Parts of a fictitious account's ARNs.
const (
	account = "111111111111"
	place   = "eu-central-1:" + account + ":"
)

// checkedOn returns the ARNs that IAM compares when a handler acts on a resource of the template: the ARNs of the
// resource, by its literal name or the name that CloudFormation generates, or of the resource that contains it.
func checkedOn(permission, id string, r map[string]any) []string {
	service, _, _ := strings.Cut(permission, ":")
	p := properties(r)
	name := func(key string) string {
		if text, ok := p[key].(string); ok {
			return text
		}
		return "zerodag-main-" + id + "-1A2B3C"
	}
	kind := r["Type"].(string)
	switch service {
	case "apigateway":
		switch kind {
		case "AWS::ApiGateway::DomainNameV2", "AWS::ApiGateway::BasePathMappingV2":
			domain := "arn:aws:apigateway:" + place + "/domainnames"
			return []string{"arn:aws:apigateway:eu-central-1::/domainnames", domain + "/flows.example.com+1a2b3c", domain + "/flows.example.com+1a2b3c/basepathmappings/(none)"}
		case "AWS::ApiGateway::DomainNameAccessAssociation":
			association := "arn:aws:apigateway:" + place + "/domainnameaccessassociations/domainname/flows.example.com/vpcesource/vpce-1"
			return []string{"arn:aws:apigateway:eu-central-1::/domainnameaccessassociations", association}
		}
		if strings.HasPrefix(kind, "AWS::ApiGateway::") {
			return []string{"arn:aws:apigateway:eu-central-1::/restapis", "arn:aws:apigateway:eu-central-1::/restapis/abc/resources/x"}
		}
		if kind == "AWS::ApiGatewayV2::DomainName" || kind == "AWS::ApiGatewayV2::ApiMapping" {
			return []string{"arn:aws:apigateway:eu-central-1::/domainnames", "arn:aws:apigateway:eu-central-1::/domainnames/" + fmt.Sprint(p["DomainName"])}
		}
		return []string{"arn:aws:apigateway:eu-central-1::/apis", "arn:aws:apigateway:eu-central-1::/apis/abc/routes/x"}
	case "cloudwatch":
		if kind == "AWS::CloudWatch::Dashboard" {
			return []string{"arn:aws:cloudwatch::" + account + ":dashboard/" + name("DashboardName")}
		}
		return []string{"arn:aws:cloudwatch:" + place + "alarm:" + name("AlarmName")}
	case "codedeploy":
		application := "arn:aws:codedeploy:" + place + "application:zerodag-main-releases"
		switch {
		case permission == "codedeploy:GetDeploymentConfig":
			return []string{"arn:aws:codedeploy:" + place + "deploymentconfig:CodeDeployDefault.LambdaCanary10Percent5Minutes"}
		case strings.HasSuffix(permission, "ApplicationRevision") || kind == "AWS::CodeDeploy::Application":
			return []string{application}
		}
		return []string{"arn:aws:codedeploy:" + place + "deploymentgroup:zerodag-main-releases/agentLive"}
	case "cognito-idp":
		return []string{"arn:aws:cognito-idp:" + place + "userpool/eu-central-1_abc"}
	case "dynamodb":
		return []string{"arn:aws:dynamodb:" + place + "table/" + name("TableName")}
	case "ec2":
		return []string{"arn:aws:ec2:" + place + "any/any-1"}
	case "ecs":
		return []string{"arn:aws:ecs:" + place + "cluster/" + name("ClusterName")}
	case "events":
		if kind == "AWS::Events::EventBus" {
			return []string{"arn:aws:events:" + place + "event-bus/" + name("Name")}
		}
		return []string{"arn:aws:events:" + place + "rule/" + name("Name"), "arn:aws:events:" + place + "rule/zerodag-main-bus/" + name("Name")}
	case "iam":
		if permission == "iam:CreateServiceLinkedRole" {
			return []string{"arn:aws:iam::" + account + ":role/aws-service-role/ecs.amazonaws.com/AWSServiceRoleForECS"}
		}
		return []string{"arn:aws:iam::" + account + ":role/" + name("RoleName")}
	case "lambda":
		if kind == "AWS::Lambda::MicrovmImage" {
			image := "arn:aws:lambda:" + place + "microvm-image:" + name("Name")
			return []string{image, image + ":1"}
		}
		if kind == "AWS::Lambda::EventSourceMapping" {
			return []string{"arn:aws:lambda:" + place + "event-source-mapping:1-2-3"}
		}
		if kind == "AWS::Lambda::Function" {
			return []string{"arn:aws:lambda:" + place + "function:" + name("FunctionName")}
		}
		return []string{"arn:aws:lambda:" + place + "function:zerodag-main-tick"}
	case "logs":
		return []string{"arn:aws:logs:" + place + "log-group:" + name("LogGroupName"), "arn:aws:logs:" + place + "log-group:" + name("LogGroupName") + ":*"}
	case "route53":
		if permission == "route53:GetChange" {
			return []string{"arn:aws:route53:::change/C1"}
		}
		return []string{"arn:aws:route53:::hostedzone/" + fmt.Sprint(p["HostedZoneId"])}
	case "s3":
		if kind == "AWS::Lambda::Function" {
			return []string{"arn:aws:s3:::cdk-hnb659fds-assets-" + account + "-eu-central-1/x.zip"}
		}
		bucket := "arn:aws:s3:::" + name(map[string]string{"AWS::S3::Bucket": "BucketName", "AWS::S3::BucketPolicy": "Bucket"}[kind])
		return []string{bucket, bucket + "/x"}
	case "secretsmanager":
		return []string{"arn:aws:secretsmanager:" + place + "secret:zerodag-main-oidc-abc-1A2B3C"}
	case "sns":
		topic := "arn:aws:sns:" + place + "zerodag-main-notices"
		return []string{topic, topic + ":5c8d0e2a-1b2c-3d4e-5f60-718293a4b5c6"} // a subscription
	case "sqs":
		return []string{"arn:aws:sqs:" + place + name("QueueName")}
	}
	return nil
}

// contextOf returns IAM's context of a request with which CloudFormation acts on a resource of the template.
func contextOf(r map[string]any) map[string]string {
	context := map[string]string{
		"aws:ResourceTag/" + stageTag: "main", // of a user pool
		"iam:AWSServiceName":          "ecs.amazonaws.com",
		"iam:PassedToService":         map[string]string{"AWS::Lambda::Function": "lambda.amazonaws.com", "AWS::Lambda::MicrovmImage": "lambda.amazonaws.com", "AWS::CodeDeploy::DeploymentGroup": "codedeploy.amazonaws.com"}[r["Type"].(string)],
	}
	if r["Type"] == "AWS::IAM::Role" || r["Type"] == "AWS::IAM::Policy" {
		context["iam:PermissionsBoundary"] = "arn:aws:iam::" + account + ":policy/zerodag-boundary"
	}
	return context
}

// TestExecution checks that CloudFormation may make all the calls that the handlers of a deployment's resource types
// make, according to the registry's schemas, on the names that a stack gives them. Every omission in the policy has a
// reason, and no reason is unused.
func TestExecution(t *testing.T) {
	defer jsii.Close()
	execution, known, why := readPolicy(t, "execution.json"), readSchemas(t), notGranted()
	unused, checked := maps.Clone(why), 0
	check := func(id string, r map[string]any, permission string) {
		for key := range why {
			ofType, _ := path.Match(key[0], r["Type"].(string))
			if denied, _ := path.Match(key[1], permission); ofType && denied {
				delete(unused, key)
				return
			}
		}
		on := checkedOn(permission, id, r)
		if slices.Contains(known.Anywhere, permission) {
			on = []string{"*"}
		}
		if len(on) == 0 {
			t.Errorf("%s: no name is known that %s is checked on", r["Type"], permission)
		}
		for _, resource := range on {
			if checked++; !execution.allows(request{permission, resource, contextOf(r)}) {
				t.Errorf("%s %s: %s on %s is neither allowed nor excused", r["Type"], id, permission, resource)
			}
		}
	}
	all := resources(template(t, where, everything))
	for id, r := range resources(template(t, where, privateWithMicrovms)) {
		if kind := r["Type"].(string); strings.HasPrefix(kind, "AWS::ApiGateway::") || kind == "AWS::Lambda::MicrovmImage" {
			all[id] = r
		}
	}
	for id, r := range all {
		of, there := known.Types[r["Type"].(string)]
		if !there || len(of.Create) == 0 || len(of.Delete) == 0 {
			t.Errorf("%[1]s: no schema is known: add \"%[1]s\": {} to the types of infra/policy/schemas.json and run make schemas", r["Type"])
		}
		for _, permission := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(of.Create, of.Read, of.Update, of.Delete)))) {
			check(id, r, permission)
		}
	}
	for key, reason := range unused {
		t.Errorf("%s of %s is excused (%s), and nothing needs it", key[1], key[0], reason)
	}
	if checked < 1000 {
		t.Errorf("only %d requests were checked", checked)
	}
}

// TestRightsWithoutResources checks that rights on actions that IAM cannot restrict to a resource have the resource *,
// because a statement with a name would grant nothing.
func TestRightsWithoutResources(t *testing.T) {
	defer jsii.Close()
	anywhere, checked := readSchemas(t).Anywhere, map[string]bool{}
	check := func(whose string, s map[string]any) {
		for _, action := range texts(s["Action"]) {
			if !slices.Contains(anywhere, action) {
				continue
			}
			if checked[action] = true; s["Effect"] == "Allow" && !slices.Contains(texts(s["Resource"]), "*") {
				t.Errorf("%s: %s is granted on %v, and IAM checks it against no resource", whose, action, s["Resource"])
			}
		}
	}
	for _, change := range []func(*settings.Settings){everything, privateWithMicrovms} {
		for name, r := range resources(template(t, where, change)) {
			if r["Type"] == "AWS::IAM::Policy" {
				for _, s := range statements(r) {
					check(name, s)
				}
			}
		}
	}
	for _, name := range []string{"deploy.json", "execution.json"} {
		for _, s := range readPolicy(t, name).Statement {
			check(name, s)
		}
	}
	if !checked["lambda:PassNetworkConnector"] || len(checked) < 10 {
		t.Errorf("only these actions were checked: %v", checked)
	}
}

// TestExecutionBeyondSchemas checks rights that the schemas do not list: for the service-linked role that API Gateway
// creates with the first domain of an account, and for the certificate of a domain.
func TestExecutionBeyondSchemas(t *testing.T) {
	t.Parallel()
	execution := readPolicy(t, "execution.json")
	for _, r := range []request{
		{"iam:CreateServiceLinkedRole", "arn:aws:iam::" + account + ":role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway", map[string]string{"iam:AWSServiceName": "ops.apigateway.amazonaws.com"}},
		{"acm:DescribeCertificate", "arn:aws:acm:" + place + "certificate/x", nil},
		{"ssm:GetParameters", "arn:aws:ssm:" + place + "parameter/cdk-bootstrap/hnb659fds/version", nil},
	} {
		if !execution.allows(r) {
			t.Errorf("%s on %s is not allowed", r.action, r.resource)
		}
	}
}

// TestLimits checks that the policies reach no resources of the account except the deployment's, and that roles can be
// created only with the boundary.
func TestLimits(t *testing.T) {
	t.Parallel()
	execution, deploy, boundary := readPolicy(t, "execution.json"), readPolicy(t, "deploy.json"), readPolicy(t, "boundary.json")
	for _, role := range []string{"deploy", "file-publishing", "lookup"} {
		if !deploy.allows(request{"sts:AssumeRole", "arn:aws:iam::" + account + ":role/cdk-hnb659fds-" + role + "-role-" + account + "-eu-central-1", nil}) {
			t.Errorf("the role %s of the bootstrap cannot be taken", role)
		}
	}
	const ours = "arn:aws:iam::" + account + ":role/zerodag-main-apiRole-ABC"
	within := map[string]string{"iam:PermissionsBoundary": "arn:aws:iam::" + account + ":policy/zerodag-boundary"}
	for _, action := range []string{"iam:CreateRole", "iam:PutRolePolicy", "iam:PutRolePermissionsBoundary"} {
		if !execution.allows(request{action, ours, within}) {
			t.Errorf("%s within the boundary is not allowed", action)
		}
		for _, context := range []map[string]string{nil, {"iam:PermissionsBoundary": "arn:aws:iam::" + account + ":policy/AdministratorAccess"}, {"iam:PermissionsBoundary": "arn:aws:iam::aws:policy/AdministratorAccess"}} {
			if execution.allows(request{action, ours, context}) {
				t.Errorf("%s is allowed with the boundary %v", action, context)
			}
		}
	}
	pools := map[string]string{"aws:ResourceTag/team": "payroll"}
	for name, p := range map[string]policy{"execution.json": execution, "deploy.json": deploy, "boundary.json": boundary} {
		for _, r := range []request{{"s3:DeleteObject", "arn:aws:s3:::payroll/x", nil}, {"dynamodb:DeleteTable", "arn:aws:dynamodb:" + place + "table/payroll", nil}, {"iam:CreateUser", "*", nil},
			{"iam:PutRolePolicy", "arn:aws:iam::" + account + ":role/admin", within}, {"iam:PassRole", "arn:aws:iam::" + account + ":role/admin", map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}},
			{"iam:DeleteRolePermissionsBoundary", ours, within}, {"iam:AttachRolePolicy", ours, within}, {"iam:CreatePolicyVersion", "arn:aws:iam::" + account + ":policy/zerodag-boundary", nil},
			{"sts:AssumeRole", "arn:aws:iam::" + account + ":role/admin", nil}, {"lambda:UpdateFunctionCode", "arn:aws:lambda:" + place + "function:payroll", nil},
			{"ssm:GetParameter", "arn:aws:ssm:" + place + "parameter/payroll/key", nil}, {"cognito-idp:AdminCreateUser", "arn:aws:cognito-idp:" + place + "userpool/x", pools},
			{"cognito-idp:DeleteUserPool", "arn:aws:cognito-idp:" + place + "userpool/x", pools}, {"secretsmanager:GetSecretValue", "arn:aws:secretsmanager:" + place + "secret:payroll", nil}} {
			if p.allows(r) {
				t.Errorf("%s: %s on %s is allowed", name, r.action, r.resource)
			}
		}
	}
	for _, action := range []string{"iam:CreateRole", "iam:PutRolePolicy", "lambda:UpdateFunctionCode", "dynamodb:DeleteTable", "s3:DeleteBucket", "s3:PutBucketPolicy"} {
		if boundary.allows(request{action, "*", within}) || boundary.allows(request{action, ours, within}) {
			t.Errorf("a role within the boundary may %s", action)
		}
	}
}

// TestBoundary checks that each role of a stage has the boundary, and keeps every right that its own policies give it.
func TestBoundary(t *testing.T) {
	defer jsii.Close()
	boundary := readPolicy(t, "boundary.json")
	placed := func(s *settings.Settings) {
		everything(s)
		s.VPC, s.Subnets = "vpc-1", []string{"subnet-a"}
	}
	ruled := func(s *settings.Settings) {
		everything(s)
		s.KMSKey, s.Traces, s.PullThrough = customerKey, settings.XRay, []string{"ecr-public"}
	}
	for _, change := range []func(*settings.Settings){everything, placed, ruled, privateWithMicrovms} {
		all, roles, rights := resources(template(t, where, change)), 0, 0
		for id, r := range all {
			if r["Type"] == "AWS::IAM::Role" {
				if roles++; !strings.HasSuffix(flat(all, properties(r)["PermissionsBoundary"]), ":policy/zerodag-boundary") {
					t.Errorf("%s has the boundary %v", id, properties(r)["PermissionsBoundary"])
				}
				continue
			}
			if r["Type"] != "AWS::IAM::Policy" {
				continue
			}
			for _, s := range statements(r) {
				if s["Effect"] == "Deny" {
					continue
				}
				for _, action := range texts(s["Action"]) {
					for _, on := range list(s["Resource"]) {
						rights++
						resource := strings.ReplaceAll(flat(all, on), "*", "x")
						if resource == "x" {
							resource = "*"
						}
						if !boundary.allows(request{action, resource, map[string]string{"iam:PassedToService": "ecs-tasks.amazonaws.com", "kms:ViaService": "s3.eu-central-1.amazonaws.com"}}) {
							t.Errorf("%s: the boundary takes %s on %s away", id, action, resource)
						}
					}
				}
			}
		}
		if roles < 9 || rights < 100 {
			t.Errorf("%d roles and %d rights were found", roles, rights)
		}
	}
	byContext := map[string]any{"@aws-cdk/core:permissionsBoundary": map[string]any{"name": "zerodag-boundary"}}
	for _, context := range []map[string]any{nil, byContext} {
		for id, r := range resources(templateWith(t, where, context, nil)) {
			boundary := properties(r)["PermissionsBoundary"]
			if want := context != nil && r["Type"] == "AWS::IAM::Role"; (boundary != nil) != want || want && !strings.HasSuffix(fmt.Sprint(boundary), ":policy/zerodag-boundary]]]") {
				t.Errorf("%s has the boundary %v if the context is %v", id, boundary, context)
			}
		}
	}
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// flat computes a value of the template as CloudFormation does: names of resources are literal, or derived from the
// name of the stack.
func flat(all map[string]map[string]any, v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	if id, ok := m["Ref"].(string); ok {
		if id == "AWS::Partition" {
			return "aws"
		}
		r := all[id]
		if r["Type"] == "AWS::SecretsManager::Secret" {
			return checkedOn("secretsmanager:GetSecretValue", id, r)[0]
		}
		if r["Type"] == "AWS::Lambda::Alias" {
			return "arn:aws:lambda:" + place + "function:" + flat(all, properties(r)["FunctionName"]) + ":" + fmt.Sprint(properties(r)["Name"])
		}
		if r["Type"] == "AWS::SNS::Topic" {
			return checkedOn("sns:Publish", id, r)[0]
		}
		for _, key := range []string{"TableName", "BucketName", "FunctionName", "LogGroupName", "TopicName"} {
			if name, ok := properties(r)[key].(string); ok {
				return name
			}
		}
		return id
	}
	if join, ok := m["Fn::Join"].([]any); ok {
		var parts []string
		for _, part := range join[1].([]any) {
			parts = append(parts, flat(all, part))
		}
		return strings.Join(parts, join[0].(string))
	}
	if get, ok := m["Fn::GetAtt"].([]any); ok && (get[1] == "Arn" || get[1] == "ImageArn") {
		r := all[get[0].(string)]
		service := strings.ToLower(strings.Split(r["Type"].(string), "::")[1])
		return checkedOn(service+":x", get[0].(string), r)[0]
	}
	return fmt.Sprint(v)
}
