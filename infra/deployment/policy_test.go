package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// managedPolicySize is what IAM takes as a managed policy, in characters without blanks.
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

// allows says whether some statement allows an action on a resource, as IAM compares them.
func (p policy) allows(action, resource string) bool {
	fits := func(pattern, text string) bool {
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(text)
	}
	for _, s := range p.Statement {
		if slices.ContainsFunc(texts(s["Action"]), func(a string) bool { return fits(a, action) }) &&
			slices.ContainsFunc(texts(s["Resource"]), func(r string) bool { return fits(r, resource) }) {
			return true
		}
	}
	return false
}

// needed are requests by which CloudFormation makes a resource of each type, on a name that a stack
// gives it. Types of a deployment that are not here are missing in the policy, too.
func needed() map[string][][2]string {
	const a = "eu-central-1:111111111111:"
	one := func(action, resource string) [][2]string { return [][2]string{{action, resource}} }
	ec2 := func(actions ...string) (list [][2]string) {
		for _, action := range actions {
			list = append(list, [2]string{"ec2:" + action, "arn:aws:ec2:" + a + "x/y"})
		}
		return list
	}
	api := one("apigateway:POST", "arn:aws:apigateway:eu-central-1::/apis/abc/x")
	role := "arn:aws:iam::111111111111:role/zerodag-main-apiRole-ABC"
	return map[string][][2]string{
		"AWS::ApiGatewayV2::Api":                one("apigateway:POST", "arn:aws:apigateway:eu-central-1::/apis"),
		"AWS::ApiGatewayV2::ApiMapping":         one("apigateway:POST", "arn:aws:apigateway:eu-central-1::/domainnames/x/apimappings"),
		"AWS::ApiGatewayV2::DomainName":         append(one("apigateway:POST", "arn:aws:apigateway:eu-central-1::/domainnames"), [2]string{"acm:DescribeCertificate", "arn:aws:acm:" + a + "certificate/x"}),
		"AWS::ApiGatewayV2::Integration":        api,
		"AWS::ApiGatewayV2::Route":              api,
		"AWS::ApiGatewayV2::Stage":              append(api, [2]string{"logs:CreateLogDelivery", "*"}),
		"AWS::CloudWatch::Alarm":                one("cloudwatch:PutMetricAlarm", "arn:aws:cloudwatch:"+a+"alarm:zerodag-main-Late"),
		"AWS::CloudWatch::Dashboard":            one("cloudwatch:PutDashboard", "arn:aws:cloudwatch::111111111111:dashboard/zerodag-main-overview-eu-central-1"),
		"AWS::Cognito::UserPool":                append(one("cognito-idp:CreateUserPool", "*"), [2]string{"cognito-idp:UpdateUserPool", "arn:aws:cognito-idp:" + a + "userpool/x"}, [2]string{"cognito-idp:DescribeUserPool", "arn:aws:cognito-idp:" + a + "userpool/x"}),
		"AWS::Cognito::UserPoolClient":          append(one("cognito-idp:CreateUserPoolClient", "arn:aws:cognito-idp:"+a+"userpool/x"), [2]string{"cognito-idp:DescribeUserPoolClient", "arn:aws:cognito-idp:" + a + "userpool/x"}),
		"AWS::Cognito::UserPoolDomain":          append(one("cognito-idp:CreateUserPoolDomain", "arn:aws:cognito-idp:"+a+"userpool/x"), [2]string{"cognito-idp:DescribeUserPoolDomain", "*"}),
		"AWS::Cognito::UserPoolGroup":           one("cognito-idp:CreateGroup", "arn:aws:cognito-idp:"+a+"userpool/x"),
		"AWS::SecretsManager::Secret":           append(one("secretsmanager:CreateSecret", "arn:aws:secretsmanager:"+a+"secret:zerodag-main-oidc-x"), [2]string{"secretsmanager:DeleteSecret", "arn:aws:secretsmanager:" + a + "secret:zerodag-main-oidc-x"}),
		"AWS::DynamoDB::Table":                  append(one("dynamodb:CreateTable", "arn:aws:dynamodb:"+a+"table/zerodag-main-table"), [2]string{"dynamodb:UpdateContinuousBackups", "arn:aws:dynamodb:" + a + "table/zerodag-main-table"}),
		"AWS::EC2::InternetGateway":             ec2("CreateInternetGateway", "CreateTags", "DeleteInternetGateway"),
		"AWS::EC2::Route":                       ec2("CreateRoute", "DeleteRoute"),
		"AWS::EC2::RouteTable":                  ec2("CreateRouteTable", "DeleteRouteTable"),
		"AWS::EC2::SecurityGroup":               ec2("CreateSecurityGroup", "AuthorizeSecurityGroupEgress", "RevokeSecurityGroupEgress", "DeleteSecurityGroup"),
		"AWS::EC2::Subnet":                      ec2("CreateSubnet", "DescribeAvailabilityZones", "DeleteSubnet"),
		"AWS::EC2::SubnetRouteTableAssociation": ec2("AssociateRouteTable", "DisassociateRouteTable"),
		"AWS::EC2::VPC":                         ec2("CreateVpc", "ModifyVpcAttribute", "DeleteVpc"),
		"AWS::EC2::VPCEndpoint":                 ec2("CreateVpcEndpoint", "DeleteVpcEndpoints"),
		"AWS::EC2::VPCGatewayAttachment":        ec2("AttachInternetGateway", "DetachInternetGateway"),
		"AWS::ECS::Cluster":                     one("ecs:CreateCluster", "*"),
		"AWS::Events::EventBus":                 one("events:CreateEventBus", "arn:aws:events:"+a+"event-bus/zerodag-main-bus"),
		"AWS::Events::Rule":                     append(one("events:PutRule", "arn:aws:events:"+a+"rule/zerodag-main-EveryMinute-ABC"), [2]string{"events:PutTargets", "arn:aws:events:" + a + "rule/zerodag-main-bus/zerodag-main-Starts-ABC"}),
		"AWS::IAM::Policy":                      one("iam:PutRolePolicy", role),
		"AWS::IAM::Role":                        append(one("iam:CreateRole", role), [2]string{"iam:PassRole", role}),
		"AWS::Lambda::EventInvokeConfig":        one("lambda:PutFunctionEventInvokeConfig", "arn:aws:lambda:"+a+"function:zerodag-main-tick"),
		"AWS::Lambda::EventSourceMapping":       one("lambda:CreateEventSourceMapping", "*"),
		"AWS::Lambda::Function":                 append(one("lambda:CreateFunction", "arn:aws:lambda:"+a+"function:zerodag-main-api"), [2]string{"s3:GetObject", "arn:aws:s3:::cdk-hnb659fds-assets-111111111111-eu-central-1/x.zip"}),
		"AWS::Lambda::Permission":               one("lambda:AddPermission", "arn:aws:lambda:"+a+"function:zerodag-main-api"),
		"AWS::Logs::LogGroup":                   append(one("logs:PutRetentionPolicy", "arn:aws:logs:"+a+"log-group:/zerodag/main/api:*"), [2]string{"logs:CreateLogGroup", "arn:aws:logs:" + a + "log-group:/aws/vendedlogs/zerodag/main/access"}),
		"AWS::Route53::RecordSet":               one("route53:ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/Z1"),
		"AWS::S3::Bucket":                       one("s3:CreateBucket", "arn:aws:s3:::zerodag-main-logs-111111111111-eu-central-1"),
		"AWS::S3::BucketPolicy":                 one("s3:PutBucketPolicy", "arn:aws:s3:::zerodag-main-logs-111111111111-eu-central-1"),
		"AWS::SNS::Subscription":                one("sns:Subscribe", "arn:aws:sns:"+a+"zerodag-main-notices"),
		"AWS::SNS::Topic":                       one("sns:CreateTopic", "arn:aws:sns:"+a+"zerodag-main-notices"),
		"AWS::SNS::TopicPolicy":                 one("sns:SetTopicAttributes", "arn:aws:sns:"+a+"zerodag-main-notices"),
		"AWS::SQS::Queue":                       one("sqs:CreateQueue", "arn:aws:sqs:"+a+"zerodag-main-Tasks-ABC"),
		"AWS::SQS::QueuePolicy":                 one("sqs:SetQueueAttributes", "arn:aws:sqs:"+a+"zerodag-main-Tasks-ABC"),
	}
}

// TestPolicies proves that the policies for CI are enough for every resource of a deployment and for
// the roles of the CDK, and that they reach nothing of the account that is not ours.
func TestPolicies(t *testing.T) {
	t.Parallel()
	execution, deploy := readPolicy(t, "execution.json"), readPolicy(t, "deploy.json")
	text, err := os.ReadFile("testdata/template.json")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{"AWS::CloudWatch::Dashboard": true}
	for _, r := range resources(m) {
		kinds[r["Type"].(string)] = true
	}
	people, err := os.ReadFile("testdata/people.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range regexp.MustCompile(`AWS::(Cognito|SecretsManager)::\w+`).FindAllString(string(people), -1) {
		kinds[kind] = true
	}
	requests := needed()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if len(requests[kind]) == 0 {
			t.Errorf("no request is known by which a %s is made: is it in infra/policy/execution.json?", kind)
		}
		for _, r := range requests[kind] {
			if !execution.allows(r[0], r[1]) {
				t.Errorf("%s: %s on %s is not allowed", kind, r[0], r[1])
			}
		}
	}
	for _, s := range execution.Statement { // the names of user pools are not in their ARNs
		if slices.ContainsFunc(texts(s["Action"]), func(a string) bool {
			return strings.HasPrefix(a, "cognito-idp:Delete") || strings.HasPrefix(a, "cognito-idp:Update")
		}) &&
			!strings.Contains(fmt.Sprint(s["Condition"]), "aws:ResourceTag/"+stageTag) {
			t.Errorf("%s reaches every user pool of the account", s["Sid"])
		}
	}
	for _, role := range []string{"deploy", "file-publishing", "lookup"} {
		if !deploy.allows("sts:AssumeRole", "arn:aws:iam::111111111111:role/cdk-hnb659fds-"+role+"-role-111111111111-eu-central-1") {
			t.Errorf("the role %s of the bootstrap cannot be taken", role)
		}
	}
	for _, p := range []policy{execution, deploy} {
		for _, r := range [][2]string{{"s3:DeleteObject", "arn:aws:s3:::payroll/x"}, {"dynamodb:DeleteTable", "arn:aws:dynamodb:eu-central-1:111111111111:table/payroll"}, {"iam:CreateUser", "*"},
			{"iam:PutRolePolicy", "arn:aws:iam::111111111111:role/admin"}, {"iam:PassRole", "arn:aws:iam::111111111111:role/admin"}, {"sts:AssumeRole", "arn:aws:iam::111111111111:role/admin"},
			{"lambda:UpdateFunctionCode", "arn:aws:lambda:eu-central-1:111111111111:function:payroll"}, {"ssm:GetParameter", "arn:aws:ssm:eu-central-1:111111111111:parameter/zerodag/main/0/1/key"},
			{"cognito-idp:AdminCreateUser", "arn:aws:cognito-idp:eu-central-1:111111111111:userpool/x"}, {"secretsmanager:GetSecretValue", "arn:aws:secretsmanager:eu-central-1:111111111111:secret:payroll"}} {
			if p.allows(r[0], r[1]) {
				t.Errorf("%s on %s is allowed", r[0], r[1])
			}
		}
	}
}
