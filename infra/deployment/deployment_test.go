package deployment

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"zerodag/infra/settings"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/template.json anew")

// where holds the account and region of the stacks in these tests.
var where = &awscdk.Environment{Account: jsii.String("111111111111"), Region: jsii.String("eu-central-1")}

// programs makes a folder of empty programs.
func programs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{programFile: "runner", commandFunctionFolder + "/handler.py": string(commandHandler), microvmFolder + "/Dockerfile": microvmBase}
	for _, f := range functions() {
		files[f.name+"/bootstrap"] = f.name
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// template synthesizes a stack of stage main with empty programs, in an account or, if env is nil, in any account. The
// tests of this package cannot run in parallel because the CDK's kernel serves one at a time.
func template(t *testing.T, env *awscdk.Environment, change func(*settings.Settings)) map[string]any {
	t.Helper()
	return templateWith(t, env, nil, change)
}

// templateWith is like template, with more CDK context.
func templateWith(t *testing.T, env *awscdk.Environment, more map[string]any, change func(*settings.Settings)) map[string]any {
	t.Helper()
	s := settings.Default("main")
	if change != nil {
		change(&s)
	}
	out := t.TempDir()
	context := map[string]any{"@aws-cdk/core:newStyleStackSynthesis": true, "@aws-cdk/aws-iam:minimizePolicies": true}
	maps.Copy(context, more)
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(out), Context: &context})
	if _, err := New(awscdk.NewStack(app, jsii.String("Stack"), &awscdk.StackProps{Env: env}), s, programs(t)); err != nil {
		t.Fatal(err)
	}
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(out, "Stack.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAll(text, []byte("HASH"))
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStack checks what a deployment consists of. One template serves all parts because making one takes seconds.
func TestStack(t *testing.T) {
	defer jsii.Close()
	m := template(t, where, func(s *settings.Settings) {
		s.Domain, s.Certificate, s.HostedZone = "flows.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x", settings.Zone{ID: "Z1", Name: "example.com"}
		s.AlarmEmail, s.Tags = "ops@example.com", map[string]string{"team": "data"}
	})
	t.Run("golden", func(t *testing.T) { golden(t, m) })
	t.Run("rights", func(t *testing.T) { rights(t, m) })
	t.Run("kept", func(t *testing.T) { kept(t, m) })
	t.Run("functions", func(t *testing.T) { lambdas(t, m) })
	t.Run("uploads", func(t *testing.T) { uploads(t, m) })
	t.Run("first deploy", func(t *testing.T) { firstDeploy(t, m) })
	t.Run("streams", func(t *testing.T) { streams(t, m) })
	t.Run("importable", func(t *testing.T) { importable(t, m) })
	t.Run("names", func(t *testing.T) { names(t, m) })
	t.Run("alarms", func(t *testing.T) { alarms(t, m) })
	t.Run("watched", func(t *testing.T) { watched(t, m) })
	t.Run("starts", func(t *testing.T) { starts(t, m) })
	t.Run("domain", func(t *testing.T) { domain(t, m) })
	t.Run("machines", func(t *testing.T) { machines(t, m) })
	t.Run("any account", func(t *testing.T) { anyAccount(t, template(t, nil, nil)) })
	t.Run("network", func(t *testing.T) {
		placed(t, template(t, where, func(s *settings.Settings) { s.VPC, s.Subnets = "vpc-1", []string{"subnet-a", "subnet-b"} }), 2)
		placed(t, template(t, where, func(s *settings.Settings) {
			s.VPC, s.Subnets, s.SecurityGroups = "vpc-1", []string{"subnet-a", "subnet-b"}, []string{"sg-1"}
		}), 1)
		defaultNetwork(t, template(t, where, func(s *settings.Settings) { s.VPC = settings.DefaultVPC }))
	})
	t.Run("command function", func(t *testing.T) {
		commandFunction(t, template(t, where, func(s *settings.Settings) { s.CommandFunction, s.CommandArchitecture = true, "arm64" }))
	})
	t.Run("microvms", func(t *testing.T) {
		microvms(t, template(t, where, func(s *settings.Settings) { s.Microvms, s.Tags = "allowed", map[string]string{"team": "data"} }))
		noMicrovms(t, m)
	})
	t.Run("corporate", func(t *testing.T) { corporate(t, template(t, where, demanding)) })
	t.Run("other stage", func(t *testing.T) {
		other := resources(template(t, where, func(s *settings.Settings) {
			s.Stage, s.Architecture, s.Reserve, s.Dashboard, s.WarmThroughput = "test2", "x86_64", true, true, 8000
		}))
		warm(t, other, 8000)
		warm(t, resources(m), 0)
		for name := range other {
			if text := fmt.Sprint(other[name]); strings.Contains(text, "zerodag-main") || strings.Contains(text, "/zerodag/main") {
				t.Errorf("stage test2: %s is of another stage: %s", name, text)
			}
		}
		reserved(t, other)
	})
	t.Run("too much to tell", func(t *testing.T) { tooMuch(t) })
}

func golden(t *testing.T, m map[string]any) {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	const file = "testdata/template.json"
	if *rewrite {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("the template changed (-want +got); `go test ./infra/deployment -run TestStack -rewrite` writes it:\n%s", diff)
	}
}

func resources(m map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	for name, r := range m["Resources"].(map[string]any) {
		all[name] = r.(map[string]any)
	}
	return all
}

func properties(r map[string]any) map[string]any {
	p, _ := r["Properties"].(map[string]any)
	return p
}

// justified holds actions for which no narrower resource can be named, and why.
var justified = func() map[string]string {
	m := map[string]string{}
	for _, a := range network {
		m[a] = "Lambda makes a network interface for a function in a VPC: it has no name before. The function itself is denied the same"
	}
	for _, a := range writeSpans {
		m[a] = "IAM has no resource for it"
	}
	m["cloudwatch:DescribeAlarms"] = "as in the policy of AWS for CodeDeploy, which asks for alarms by their names"
	m["ecr:GetAuthorizationToken"] = "IAM has no resource for it"
	m["ecs:ListTasks"] = "IAM has no resource for it: a condition names the cluster"
	m["ecs:DescribeTaskDefinition"] = "IAM has no resource for it"
	m["ecs:RegisterTaskDefinition"] = "task definitions are named by what is in them"
	return m
}()

// rights checks every statement of every policy: no right covers all resources or all actions.
func rights(t *testing.T, m map[string]any) {
	seen := 0
	for name, r := range resources(m) {
		for _, s := range statements(r) {
			if s["Effect"] == "Deny" {
				continue
			}
			seen++
			actions, on := texts(s["Action"]), texts(s["Resource"])
			for _, a := range actions {
				if strings.HasSuffix(a, "*") {
					t.Errorf("%s: may do %s", name, a)
				}
				if slices.Contains(on, "*") && justified[a] == "" {
					t.Errorf("%s: may do %s on everything", name, a)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d statements were found", seen)
	}
}

func statements(r map[string]any) []map[string]any {
	p := properties(r)
	var list []map[string]any
	for _, document := range []any{p["PolicyDocument"], p["AssumeRolePolicyDocument"]} {
		d, ok := document.(map[string]any)
		if !ok {
			continue
		}
		for _, s := range d["Statement"].([]any) {
			list = append(list, s.(map[string]any))
		}
	}
	return list
}

// warm checks the warm throughput of the table and its indexes.
func warm(t *testing.T, all map[string]map[string]any, writes int) {
	want := "<nil>"
	if writes > 0 {
		want = fmt.Sprintf("map[ReadUnitsPerSecond:%d WriteUnitsPerSecond:%d]", 3*writes, writes)
	}
	for name, r := range all {
		if r["Type"] != "AWS::DynamoDB::Table" {
			continue
		}
		for _, part := range append([]any{properties(r)}, properties(r)["GlobalSecondaryIndexes"].([]any)...) {
			if got := fmt.Sprint(part.(map[string]any)["WarmThroughput"]); got != want {
				t.Errorf("%s: %v takes %s at once, want %s", name, part.(map[string]any)["IndexName"], got, want)
			}
		}
	}
}

// texts flattens a value that may be single or a list; computed values are shown as JSON.
func texts(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var list []string
		for _, e := range x {
			list = append(list, texts(e)...)
		}
		return list
	case nil:
		return nil
	}
	text, _ := json.Marshal(v)
	return []string{string(text)}
}

// kept checks the resources with users' data: they outlive the stack and are inaccessible to others.
func kept(t *testing.T, m map[string]any) {
	count := map[string]int{}
	for name, r := range resources(m) {
		kind := r["Type"].(string)
		count[kind]++
		p := properties(r)
		switch kind {
		case "AWS::DynamoDB::Table":
			if p["DeletionProtectionEnabled"] != true || p["BillingMode"] != "PAY_PER_REQUEST" || fmt.Sprint(p["SSESpecification"]) != "map[SSEEnabled:false]" {
				t.Errorf("%s: %v %v", name, r["DeletionPolicy"], p)
			}
			if s, _ := p["PointInTimeRecoverySpecification"].(map[string]any); s["PointInTimeRecoveryEnabled"] != true {
				t.Errorf("%s: no point-in-time recovery", name)
			}
		case "AWS::S3::Bucket":
			block, _ := p["PublicAccessBlockConfiguration"].(map[string]any)
			if block["BlockPublicAcls"] != true || block["RestrictPublicBuckets"] != true || p["BucketEncryption"] == nil {
				t.Errorf("%s: %v %v", name, r["DeletionPolicy"], p)
			}
		case "AWS::SQS::Queue":
			if p["MessageRetentionPeriod"] != float64(keptDays*86400) || p["SqsManagedSseEnabled"] != true {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	want := map[string]int{"AWS::DynamoDB::Table": 1, "AWS::S3::Bucket": 2, "AWS::SQS::Queue": 5, "AWS::Events::Rule": 3, "AWS::Lambda::EventSourceMapping": 2,
		"AWS::CloudWatch::Dashboard": 0, "AWS::CloudWatch::Alarm": 6, "AWS::EC2::Subnet": 3}
	for kind, n := range want {
		if count[kind] != n {
			t.Errorf("%d of %s, want %d", count[kind], kind, n)
		}
	}
}

// uploads checks the path from an uploaded archive to its function: no other bucket or account calls the function, S3
// gets its notification after its permission, and leftovers expire.
func uploads(t *testing.T, m map[string]any) {
	all := resources(m)
	permission := properties(all["UploadPermission"])
	if permission["SourceAccount"] == nil || !strings.Contains(fmt.Sprint(permission["SourceArn"]), "zerodag-main-archives-") {
		t.Errorf("anybody's bucket may call the function: %v", permission)
	}
	for name, r := range all {
		p := properties(r)
		switch r["Type"] {
		case "AWS::S3::BucketPolicy":
			if r["DeletionPolicy"] != "RetainExceptOnCreate" {
				t.Errorf("%s: a bucket that is kept is open to plain HTTP", name)
			}
		case "AWS::S3::Bucket":
			if !strings.HasPrefix(name, "Archives") {
				continue
			}
			if text := fmt.Sprint(p["NotificationConfiguration"]); !strings.Contains(text, "s3:ObjectCreated:*") || !strings.Contains(text, "uploads/") || !slices.Contains(texts(r["DependsOn"]), "UploadPermission") {
				t.Errorf("%s after %v: %s", name, r["DependsOn"], text)
			}
			rules := p["LifecycleConfiguration"].(map[string]any)["Rules"].([]any)
			vanishing := map[any]any{}
			for _, rule := range rules {
				rule := rule.(map[string]any)
				vanishing[rule["Id"]] = rule["ExpirationInDays"]
				if rule["AbortIncompleteMultipartUpload"] != nil {
					vanishing[rule["Id"]] = rule["AbortIncompleteMultipartUpload"].(map[string]any)["DaysAfterInitiation"]
				}
			}
			for _, id := range []string{"uploads", "slots", "results", "parts"} {
				if vanishing[id] != 1.0 {
					t.Errorf("%s: %s are kept for %v days", name, id, vanishing[id])
				}
			}
		case "AWS::IAM::Policy":
			for _, s := range statements(r) {
				if strings.HasPrefix(name, "uploadRole") && slices.Contains(texts(s["Action"]), "s3:PutObject") && strings.Contains(fmt.Sprint(s["Resource"]), "slots/") {
					t.Errorf("%s: the function may write slots", name)
				}
			}
		}
	}
}

// placed checks a stack in a VPC: only functions that run operators are inside.
func placed(t *testing.T, m map[string]any, groups int) {
	inside := map[string]bool{"zerodag-main-agent": true, "zerodag-main-executor": true}
	for name, r := range resources(m) {
		p := properties(r)
		switch r["Type"] {
		case "AWS::EC2::SecurityGroup":
			groups--
			if p["VpcId"] != "vpc-1" || p["SecurityGroupIngress"] != nil || p["GroupName"] != nil {
				t.Errorf("%s: %v", name, p)
			}
		case "AWS::Lambda::Function":
			function, _ := p["FunctionName"].(string)
			v, placed := p["VpcConfig"].(map[string]any)
			if placed != inside[function] || placed && (fmt.Sprint(v["SubnetIds"]) != "[subnet-a subnet-b]" || len(v["SecurityGroupIds"].([]any)) != 1) {
				t.Errorf("%s: %v", name, v)
			}
		}
	}
	if groups != 0 {
		t.Errorf("%d security groups are missing", groups)
	}
	rights(t, m)
}

// lambdas checks our functions: only functions that call each other through queues may loop, and each has a separate
// role.
func lambdas(t *testing.T, m map[string]any) {
	roles := map[string]bool{}
	for _, f := range functions() {
		for _, r := range resources(m) {
			p := properties(r)
			if r["Type"] != "AWS::Lambda::Function" || p["FunctionName"] != "zerodag-main-"+f.name {
				continue
			}
			want := "Terminate"
			if f.loop {
				want = "Allow"
			}
			if p["RecursiveLoop"] != want || p["Runtime"] != "provided.al2023" || fmt.Sprint(p["Architectures"]) != "[arm64]" {
				t.Errorf("%s: %v", f.name, p)
			}
			role := fmt.Sprint(p["Role"])
			if roles[role] {
				t.Errorf("%s shares the role %s", f.name, role)
			}
			roles[role] = true
		}
	}
	if len(roles) != len(functions()) {
		t.Errorf("%d functions were found", len(roles))
	}
}
