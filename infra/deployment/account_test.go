package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

// Rules of a real account that an emulator does not enforce: one function for each rule.

// firstDeploy checks the first deploy into a fresh account: each reference to a resource comes after the resource, and
// a failed deploy leaves nothing that blocks the next.
func firstDeploy(t *testing.T, m map[string]any) {
	all := resources(m)
	limited := 0
	for name, r := range all {
		p := properties(r)
		switch kind := r["Type"].(string); kind {
		case "AWS::ApiGatewayV2::Stage":
			of := map[string]string{} // names of routes by their keys
			for id, route := range all {
				if route["Type"] == "AWS::ApiGatewayV2::Route" {
					of[fmt.Sprint(properties(route)["RouteKey"])] = id
				}
			}
			for key := range p["RouteSettings"].(map[string]any) {
				limited++
				if of[key] == "" || !slices.Contains(texts(r["DependsOn"]), of[key]) {
					t.Errorf("%s limits the route %q before it is there", name, key)
				}
			}
		case "AWS::DynamoDB::Table": // deletion protection would block the rollback that deletes it
			if p["DeletionProtectionEnabled"] != true || r["DeletionPolicy"] != "Retain" || r["UpdateReplacePolicy"] != "Retain" {
				t.Errorf("%s is protected (%v), and a first deploy that fails would delete it: %v, %v", name, p["DeletionProtectionEnabled"], r["DeletionPolicy"], r["UpdateReplacePolicy"])
			}
		case "AWS::S3::Bucket", "AWS::S3::BucketPolicy":
			if r["DeletionPolicy"] != "RetainExceptOnCreate" || r["UpdateReplacePolicy"] != "Retain" {
				t.Errorf("%s (%s) is kept where its deploy fails, or not kept otherwise: %v, %v", name, kind, r["DeletionPolicy"], r["UpdateReplacePolicy"])
			}
		case "AWS::ECS::Cluster":
			if p["CapacityProviders"] != nil {
				t.Errorf("%s has capacity providers without spot: ECS refuses them in a fresh account", name)
			}
		}
	}
	if limited == 0 {
		t.Error("no route has a limit of its own")
	}
	open := template(t, where, func(s *settings.Settings) { s.DeletionProtection = false })
	for name, r := range resources(open) {
		if r["Type"] == "AWS::DynamoDB::Table" && (properties(r)["DeletionProtectionEnabled"] == true || r["DeletionPolicy"] != "RetainExceptOnCreate") {
			t.Errorf("%s is not protected, and a first deploy that fails does not undo itself", name)
		}
	}
	for name, r := range resources(template(t, where, func(s *settings.Settings) { s.Spot = true })) {
		if r["Type"] != "AWS::ECS::Cluster" {
			continue
		}
		if fmt.Sprint(properties(r)["CapacityProviders"]) != "[FARGATE FARGATE_SPOT]" {
			t.Errorf("%s has no capacity provider for spot: %v", name, properties(r)["CapacityProviders"])
		}
		if !slices.ContainsFunc(texts(r["DependsOn"]), func(id string) bool { return all[id]["Type"] == "AWS::DynamoDB::Table" }) {
			t.Errorf("%s does not give IAM time to make the role of ECS known", name)
		}
	}
}

// streams checks event streams, each of which occupies a call of the function for as long as it may last: together they
// leave some of the API's reserved concurrency to other calls, and signed requests stay signed.
func streams(t *testing.T, m map[string]any) {
	const lasts = 5 // seconds, cloud.streamTime
	var limits, defaults map[string]any
	for _, r := range resources(m) {
		if r["Type"] == "AWS::ApiGatewayV2::Stage" {
			limits, defaults = properties(r)["RouteSettings"].(map[string]any), properties(r)["DefaultRouteSettings"].(map[string]any)
		}
	}
	rate, burst := 0.0, 0.0 // of all routes together
	for _, limit := range append(slices.Collect(maps.Values(limits)), any(defaults)) {
		rate += limit.(map[string]any)["ThrottlingRateLimit"].(float64)
		burst += limit.(map[string]any)["ThrottlingBurstLimit"].(float64)
	}
	if rate > 2500 || burst > 1250 {
		t.Errorf("routes ask for %v requests a second and %v at once: accounts have 2500 and 1250 in the smaller regions", rate, burst)
	}
	most := 0.0
	found := 0
	for name, r := range resources(m) {
		key, _ := properties(r)["RouteKey"].(string)
		if !strings.HasSuffix(key, "/api/attempts/{id}/events") {
			continue
		}
		found++
		limit, _ := limits[key].(map[string]any)
		rate, _ := limit["ThrottlingRateLimit"].(float64)
		burst, _ := limit["ThrottlingBurstLimit"].(float64)
		if rate == 0 || burst == 0 {
			t.Errorf("%s: %s has no limit", name, key)
		}
		if signed := strings.Contains(key, "/iam/"); signed != (properties(r)["AuthorizationType"] == "AWS_IAM") {
			t.Errorf("%s: %s is let through by %v", name, key, properties(r)["AuthorizationType"])
		}
		most += lasts*rate + burst
	}
	apiReserved := float64(settings.Default("main").Reserved()["api"])
	if found != 2 || most >= apiReserved {
		t.Errorf("%d routes of streams take up to %v of the %v calls that are set aside for the API", found, most, apiReserved)
	}
}

// importable checks the resources that outlive a stack: a later stack can take over a resource only if its name is
// literal.
func importable(t *testing.T, m map[string]any) {
	want := map[string][]string{
		"AWS::DynamoDB::Table":  {"TableName", "zerodag-main-table"},
		"AWS::S3::Bucket":       {"BucketName", "zerodag-main-archives-111111111111-eu-central-1", "zerodag-main-logs-111111111111-eu-central-1"},
		"AWS::S3::BucketPolicy": {"Bucket", "zerodag-main-archives-111111111111-eu-central-1", "zerodag-main-logs-111111111111-eu-central-1"},
	}
	found := 0
	for name, r := range resources(m) {
		if w := want[r["Type"].(string)]; w != nil {
			found++
			if r["Type"] == "AWS::S3::BucketPolicy" && !strings.Contains(fmt.Sprint(statements(r)), "map[Bool:map[aws:SecureTransport:false]] Effect:Deny") {
				t.Errorf("%s: the bucket takes plain HTTP: %v", name, statements(r))
			}
			if id, _ := properties(r)[w[0]].(string); !slices.Contains(w[1:], id) {
				t.Errorf("%s: CloudFormation imports no resource of the name %v", name, properties(r)[w[0]])
			}
		}
	}
	if found != 5 {
		t.Errorf("%d of table, buckets and their policies were found", found)
	}
}

// anyAccount checks that a template made without credentials can be deployed anywhere.
func anyAccount(t *testing.T, m map[string]any) {
	for name, r := range resources(m) {
		if text := fmt.Sprint(properties(r)); strings.Contains(text, "111111111111") || strings.Contains(text, "eu-central-1") {
			t.Errorf("%s is of one account: %s", name, text)
		}
	}
	s := settings.Default("main")
	s.VPC = settings.DefaultVPC
	if _, err := New(awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Stack"), nil), s, programs(t)); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("the default VPC of no account: %v", err)
	}
}

// names checks that names that must be unique across all regions of an account, or globally, do not collide between
// stages and regions. A security group with a name cannot be replaced.
func names(t *testing.T, m map[string]any) {
	withDashboard := template(t, where, func(s *settings.Settings) { s.Dashboard = true })
	dashboards := 0
	for _, template := range []map[string]any{m, withDashboard} {
		for name, r := range resources(template) {
			p := properties(r)
			switch r["Type"] {
			case "AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group", "AWS::IAM::ManagedPolicy", "AWS::IAM::InstanceProfile":
				for _, key := range []string{"RoleName", "UserName", "GroupName", "ManagedPolicyName", "InstanceProfileName"} {
					if p[key] != nil {
						t.Errorf("%s has the %s %v: IAM is one for all regions", name, key, p[key])
					}
				}
			case "AWS::CloudWatch::Dashboard":
				if dashboards++; p["DashboardName"] != "zerodag-main-overview-eu-central-1" {
					t.Errorf("%s has the name %v: dashboards are one list for all regions", name, p["DashboardName"])
				}
			case "AWS::S3::Bucket":
				if text, _ := p["BucketName"].(string); !strings.HasSuffix(text, "-111111111111-eu-central-1") || len(text) > 63 {
					t.Errorf("%s: %q may be anybody's", name, text)
				}
			case "AWS::EC2::SecurityGroup":
				if p["GroupName"] != nil {
					t.Errorf("%s has a name: it could not be replaced", name)
				}
			}
		}
	}
	if dashboards != 1 {
		t.Errorf("%d dashboards, want one where it is asked for and none elsewhere", dashboards)
	}
}

// alarms checks that each alarm reaches users: it has an action, and CloudWatch may publish to its topic, which only a
// topic policy can allow, because CloudWatch has no role.
func alarms(t *testing.T, m map[string]any) {
	all, metrics := resources(m), 0
	for name, r := range all {
		if r["Type"] != "AWS::CloudWatch::Alarm" {
			continue
		}
		p := properties(r)
		actions, _ := p["AlarmActions"].([]any)
		if len(actions) == 0 {
			t.Errorf("%s tells nobody", name)
		}
		for _, a := range actions {
			topic, _ := a.(map[string]any)["Ref"].(string)
			if !allowsAlarms(all, topic) {
				t.Errorf("%s: CloudWatch may not publish to %s", name, topic)
			}
		}
		for _, q := range p["Metrics"].([]any) {
			if q.(map[string]any)["MetricStat"] != nil {
				metrics++
			}
		}
	}
	if metrics > 12 {
		t.Errorf("alarms read %d metrics: ten are free in an account, and docs/aws.md says what twelve cost", metrics)
	}
}

// watched checks the inputs of alarms: every dead-letter queue, and the server errors of the API. Each of them alone
// raises its alarm.
func watched(t *testing.T, m map[string]any) {
	all, aside, read := resources(m), map[string]bool{}, map[string]string{}
	for name, r := range all {
		p := properties(r)
		if redrive, ok := p["RedrivePolicy"].(map[string]any); ok && r["Type"] == "AWS::SQS::Queue" {
			aside[fmt.Sprint(redrive["deadLetterTargetArn"])] = true
		}
		if to, ok := p["DestinationConfig"].(map[string]any); ok {
			aside[fmt.Sprint(to["OnFailure"].(map[string]any)["Destination"])] = true
		}
		targets, _ := p["Targets"].([]any)
		for _, target := range targets {
			if dead, ok := target.(map[string]any)["DeadLetterConfig"].(map[string]any); ok {
				aside[fmt.Sprint(dead["Arn"])] = true
			}
		}
		if r["Type"] == "AWS::CloudWatch::Alarm" {
			noteMetrics(p, name, read)
		}
	}
	for queue := range aside {
		id := strings.Fields(strings.TrimPrefix(queue, "map[Fn::GetAtt:["))[0]
		if alarm := read["AWS/SQS "+id]; !strings.HasPrefix(alarm, "DeadLetters") {
			t.Errorf("what is put aside in %s raises %q", id, alarm)
		}
	}
	if len(aside) != 3 {
		t.Errorf("things are put aside in %v", aside)
	}
	for metric, want := range map[string]string{"AWS/ApiGateway 5xx": "ApiFails", "zerodag Errors": "FunctionsFail", "zerodag NoEvaluator": "FunctionsFail", "AWS/Usage ConcurrentExecutions": "Quotas", "AWS/Usage vCPU": "Quotas"} {
		if alarm := read[metric]; !strings.HasPrefix(alarm, want) {
			t.Errorf("%s raises %q, want %s", metric, alarm, want)
		}
	}
}

// noteMetrics records which alarm reads a metric, if the alarm's expression uses the metric.
func noteMetrics(alarm map[string]any, name string, read map[string]string) {
	expression := ""
	for _, q := range alarm["Metrics"].([]any) {
		if text, ok := q.(map[string]any)["Expression"].(string); ok {
			expression = text
		}
	}
	for _, q := range alarm["Metrics"].([]any) {
		q := q.(map[string]any)
		stat, ok := q["MetricStat"].(map[string]any)
		if !ok || !strings.Contains(expression, "FILL("+q["Id"].(string)+", 0)") {
			continue
		}
		metric := stat["Metric"].(map[string]any)
		key := metric["MetricName"].(string)
		if metric["Namespace"] == "AWS/Usage" {
			for _, d := range metric["Dimensions"].([]any) {
				if d := d.(map[string]any); d["Name"] == "Resource" {
					key = d["Value"].(string)
				}
			}
		}
		if metric["Namespace"] == "AWS/SQS" {
			value := metric["Dimensions"].([]any)[0].(map[string]any)["Value"].(map[string]any)
			key = value["Fn::GetAtt"].([]any)[0].(string)
		}
		read[metric["Namespace"].(string)+" "+key] = name
	}
}

func allowsAlarms(all map[string]map[string]any, topic string) bool {
	for _, r := range all {
		if r["Type"] != "AWS::SNS::TopicPolicy" || !strings.Contains(fmt.Sprint(properties(r)["Topics"]), topic) {
			continue
		}
		for _, s := range statements(r) {
			if s["Effect"] == "Allow" && fmt.Sprint(s["Principal"]) == "map[Service:cloudwatch.amazonaws.com]" && s["Action"] == "sns:Publish" &&
				fmt.Sprint(s["Condition"]) == "map[StringEquals:map[aws:SourceAccount:111111111111]]" {
				return true
			}
		}
	}
	return false
}

// starts checks the workflow triggers: they are retried for a long time and then put aside, and both queues leave
// concurrency to others.
func starts(t *testing.T, m map[string]any) {
	most, asynchronous := map[string]any{}, map[string]bool{}
	for name, r := range resources(m) {
		p := properties(r)
		switch r["Type"] {
		case "AWS::Events::Rule":
			for _, target := range p["Targets"].([]any) {
				target := target.(map[string]any)
				if minute := strings.Contains(fmt.Sprint(target["Arn"]), "MinuteTick"); minute != (p["ScheduleExpression"] != nil) {
					t.Errorf("%s: what fails is put aside where nothing is lost, or is not where a start is: %v", name, target["Arn"])
				}
				if (p["ScheduleExpression"] == nil) != (target["DeadLetterConfig"] != nil) {
					t.Errorf("%s loses what it cannot hand over, or keeps what comes again: %v", name, target)
				}
				if _, short := target["RetryPolicy"]; short != (p["ScheduleExpression"] != nil) {
					t.Errorf("%s is tried for: %v", name, target["RetryPolicy"])
				}
			}
		case "AWS::Lambda::EventInvokeConfig":
			age, kept := float64(tickAge), strings.Contains(fmt.Sprint(p["DestinationConfig"]), "StartsDead")
			if p["Qualifier"] != "$LATEST" { // the calls of each minute, which are many and may be dropped
				age, kept = minuteAge, p["DestinationConfig"] == nil
			}
			if p["MaximumRetryAttempts"] != float64(tickTries) || p["MaximumEventAgeInSeconds"] != age || !kept {
				t.Errorf("%s: %v", name, p)
			}
			asynchronous[strings.SplitN(name, "EventInvoke", 2)[0]] = true
		case "AWS::SQS::Queue":
			if p["MaximumMessageSize"] != float64(1<<20) { // the largest message that package sqs sends
				t.Errorf("%s takes %v bytes", name, p["MaximumMessageSize"])
			}
		case "AWS::Lambda::EventSourceMapping":
			most[strings.SplitN(name, "Sqs", 2)[0]] = p["ScalingConfig"]
		case "AWS::IAM::Policy":
			if strings.HasPrefix(name, "tickRole") && !mayWriteStates(r) {
				t.Errorf("%s: the tick cannot keep a large state", name)
			}
		}
	}
	if text := fmt.Sprint(most); text != "map[agent:map[MaximumConcurrency:100] executor:map[MaximumConcurrency:50]]" {
		t.Errorf("at most: %s", text)
	}
	if len(asynchronous) != 3 || !asynchronous["upload"] || !asynchronous["tick"] {
		t.Errorf("asynchronous calls of %v are limited", asynchronous)
	}
}

func mayWriteStates(policy map[string]any) bool {
	for _, s := range statements(policy) {
		on := fmt.Sprint(s["Resource"])
		if slices.Contains(texts(s["Action"]), "s3:PutObject") && strings.Contains(on, "/state/*") && strings.Contains(on, "/log/*") {
			return true
		}
	}
	return false
}

// reserved checks a deployment with reserved concurrency: every function has some, and a queue never calls its function
// more often than that.
func reserved(t *testing.T, all map[string]map[string]any) {
	want := map[any]any{"zerodag-test2-agent": 100.0, "zerodag-test2-executor": 50.0, "zerodag-test2-api": 50.0, "zerodag-test2-runners": 50.0, "zerodag-test2-tick": 10.0, "zerodag-test2-upload": 10.0}
	for name, r := range all {
		if p := properties(r); r["Type"] == "AWS::Lambda::Function" && p["ReservedConcurrentExecutions"] != want[p["FunctionName"]] {
			t.Errorf("%s: %v are set aside for %v", name, p["ReservedConcurrentExecutions"], p["FunctionName"])
		}
	}
}

// domain checks a custom domain: the stack outputs its record and creates it, and machines do not need it.
func domain(t *testing.T, m map[string]any) {
	outputs := m["Outputs"].(map[string]any)
	if outputs["DomainTarget"] == nil || outputs["DomainTargetZone"] == nil {
		t.Error("the stack does not say where the name leads")
	}
	records := 0
	for name, r := range resources(m) {
		p := properties(r)
		switch r["Type"] {
		case "AWS::Route53::RecordSet":
			if records++; p["HostedZoneId"] != "Z1" || p["Name"] != "flows.example.com." || !strings.Contains(fmt.Sprint(p["AliasTarget"]), "RegionalDomainName") {
				t.Errorf("%s: %v", name, p)
			}
		case "AWS::Lambda::Function":
			if text := fmt.Sprint(p["Environment"]); strings.Contains(text, "flows.example.com") {
				t.Errorf("%s tells machines a name that others keep: %s", name, text)
			}
		}
	}
	if records != 1 {
		t.Errorf("%d records", records)
	}
}

// machines checks the permissions to launch machines: only task definitions of this stage, and not of a stage whose
// name begins the same way, on this cluster. The runners' program may be encrypted with the bootstrap stack's key:
// links to it need that key, and no other object does.
func machines(t *testing.T, m map[string]any) {
	launchers, keys := 0, 0
	for name, r := range resources(m) {
		for _, s := range statements(r) {
			on := strings.Join(texts(s["Resource"]), " ")
			if slices.Contains(texts(s["Action"]), "kms:Decrypt") {
				keys++
				if text := fmt.Sprint(s["Condition"]); !strings.HasPrefix(name, "runnersRole") || !strings.Contains(text, "kms:ViaService:s3.eu-central-1.amazonaws.com") ||
					!strings.Contains(text, "kms:EncryptionContext:aws:s3:arn:") || !strings.Contains(text, "cdk-hnb659fds-assets-111111111111-eu-central-1*") {
					t.Errorf("%s may decrypt on %s if %v", name, on, s["Condition"])
				}
			}
			if !slices.Contains(texts(s["Action"]), "ecs:RunTask") {
				continue
			}
			launchers++
			if !strings.Contains(on, "task-definition/zerodag-main-????????????????????:*") {
				t.Errorf("%s may launch %s", name, on)
			}
			if !strings.Contains(fmt.Sprint(s["Condition"]), "ArnEquals:map[ecs:cluster:") {
				t.Errorf("%s may launch on every cluster: %v", name, s["Condition"])
			}
		}
	}
	if launchers != 2 || keys != 1 {
		t.Errorf("%d functions launch machines, %d may decrypt", launchers, keys)
	}
}

// defaultNetwork checks machines in the default VPC of the account: no network is created, and functions stay outside
// it, where they can reach the Internet.
func defaultNetwork(t *testing.T, m map[string]any) {
	for name, r := range resources(m) {
		switch kind := r["Type"].(string); {
		case kind == "AWS::EC2::SecurityGroup":
		case strings.HasPrefix(kind, "AWS::EC2::"):
			t.Errorf("%s (%s) is made", name, kind)
		case properties(r)["VpcConfig"] != nil:
			t.Errorf("%s is in a VPC", name)
		}
	}
}

// tooMuch checks that functions whose environment is larger than Lambda accepts are refused at once, and not by Lambda
// in the middle of a deploy.
func tooMuch(t *testing.T) {
	s := settings.Default("main")
	for i := range 60 {
		s.TaskRoles = append(s.TaskRoles, fmt.Sprintf("0/project-%d=arn:aws:iam::111111111111:role/%s-%d", i, strings.Repeat("r", 20), i))
	}
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Stack"), &awscdk.StackProps{Env: where})
	if _, err := New(stack, s, programs(t)); err == nil || !strings.Contains(err.Error(), "4096") || !strings.Contains(err.Error(), "taskRoles") {
		t.Errorf("60 roles: %v", err)
	}
}
