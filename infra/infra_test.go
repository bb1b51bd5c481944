package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/template.json anew")

// template synthesizes a stack with empty programs. The tests of this package cannot run
// side by side: the kernel of the CDK serves one at a time.
func template(t *testing.T, context map[string]any) map[string]any {
	t.Helper()
	assets := t.TempDir()
	for _, f := range functions() {
		if err := os.MkdirAll(filepath.Join(assets, f.name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(assets, f.name, "bootstrap"), []byte(f.name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	context["assets"] = assets
	out := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: jsii.String(out)})
	s, err := readSettings(app.Node())
	if err != nil {
		t.Fatal(err)
	}
	newStack(app, s)
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(out, "Zerodag-"+s.Stage+".template.json"))
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

// TestStack proves what a deployment consists of. One template serves all parts: to make
// one takes seconds.
func TestStack(t *testing.T) {
	defer jsii.Close()
	m := template(t, map[string]any{"domain": "flows.example.com", "certificate": "arn:aws:acm:us-east-1:111111111111:certificate/x", "alarmEmail": "ops@example.com", "tags": "team=data"})
	t.Run("golden", func(t *testing.T) { golden(t, m) })
	t.Run("rights", func(t *testing.T) { rights(t, m) })
	t.Run("kept", func(t *testing.T) { kept(t, m) })
	t.Run("functions", func(t *testing.T) { lambdas(t, m) })
	other := template(t, map[string]any{"stage": "test2", "architecture": "x86_64"})
	for name := range resources(other) {
		if text := fmt.Sprint(resources(other)[name]); strings.Contains(text, "zerodag-main") || strings.Contains(text, "/zerodag/main") {
			t.Errorf("stage test2: %s is of another stage: %s", name, text)
		}
	}
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
		t.Errorf("the template changed (-want +got); `go test ./infra -rewrite` writes it:\n%s", diff)
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

// justified are actions that no narrower resource can be named for, and why.
var justified = map[string]string{}

// rights looks at every statement of every policy: no right is on everything, and none is
// to do everything.
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

// texts flattens what may be one or many; what is computed is shown as JSON.
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

// kept looks at what holds users' data: it outlives the stack and is closed to others.
func kept(t *testing.T, m map[string]any) {
	count := map[string]int{}
	for name, r := range resources(m) {
		kind := r["Type"].(string)
		count[kind]++
		p := properties(r)
		switch kind {
		case "AWS::DynamoDB::Table":
			if r["DeletionPolicy"] != "Retain" || p["DeletionProtectionEnabled"] != true || p["BillingMode"] != "PAY_PER_REQUEST" {
				t.Errorf("%s: %v %v", name, r["DeletionPolicy"], p)
			}
			if s, _ := p["PointInTimeRecoverySpecification"].(map[string]any); s["PointInTimeRecoveryEnabled"] != true {
				t.Errorf("%s: no point-in-time recovery", name)
			}
		case "AWS::S3::Bucket":
			block, _ := p["PublicAccessBlockConfiguration"].(map[string]any)
			if r["DeletionPolicy"] != "Retain" || block["BlockPublicAcls"] != true || block["RestrictPublicBuckets"] != true || p["BucketEncryption"] == nil {
				t.Errorf("%s: %v %v", name, r["DeletionPolicy"], p)
			}
		case "AWS::SQS::Queue":
			if p["MessageRetentionPeriod"] != float64(keptDays*86400) || p["SqsManagedSseEnabled"] != true {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	want := map[string]int{"AWS::DynamoDB::Table": 1, "AWS::S3::Bucket": 2, "AWS::SQS::Queue": 4, "AWS::Events::Rule": 2, "AWS::Lambda::EventSourceMapping": 2,
		"AWS::CloudWatch::Dashboard": 1, "AWS::CloudWatch::Alarm": 3 + len(functions())}
	for kind, n := range want {
		if count[kind] != n {
			t.Errorf("%d of %s, want %d", count[kind], kind, n)
		}
	}
}

// lambdas looks at our functions: only those that answer each other through queues may
// loop, and each has a role of its own.
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

// TestSettings proves that a wrong context parameter is one clear error.
func TestSettings(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"stage": {"No Good", "lower-case"}, "architecture": {"mips", "arm64 or x86_64"}, "memory": {"12", "between 256 and 10240"},
		"taskLimit": {"many", "a number between 1 and 100000"}, "domain": {"x.example.com", "certificate"}, "tags": {"a", "name=value"},
	} {
		app := awscdk.NewApp(&awscdk.AppProps{Context: &map[string]any{name: c.value}, Outdir: jsii.String(t.TempDir())})
		if _, err := readSettings(app.Node()); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %s", name, c.value, err, c.want)
		}
	}
}
