package stack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"zerodag/integration/localstack"
	"zerodag/integration/server"
)

// plain is a stage that only the CDK's command line deploys and removes, with the flags that docs/aws.md names.
type plain struct {
	t              *testing.T
	stage, outputs string // outputs is the file into which a deploy writes them
}

// cdk runs the command line in the folder of the repository.
func (p plain) cdk(arguments ...string) (string, error) {
	p.t.Helper()
	program, err := filepath.Abs("../../infra/_cdk/node_modules/.bin/cdk")
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.CommandContext(p.t.Context(), program, append(arguments, "--no-notices", "--output", p.t.TempDir(), "-c", "stage="+p.stage, "-c", "file=none", "-c", "architecture=x86_64", "-c", "leaseSeconds=5")...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), "CI=1", "CDK_DISABLE_CLI_TELEMETRY=true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1")
	out, err := c.CombinedOutput()
	p.t.Logf("cdk %s: %v\n%s", arguments[0], err, out)
	return string(out), err
}

// deploy runs the one command that docs/aws.md names for every deploy.
func (p plain) deploy() (string, error) {
	p.t.Helper()
	return p.cdk("deploy", "--import-existing-resources", "--require-approval", "never", "--outputs-file", p.outputs)
}

// TestPlainCDK checks that the CDK's command line is enough for the life of a stage: a first deploy that fails in the
// middle is retried by the same command; a stage can be removed after its machines have stopped, but not while one is
// running; and the same command restores a removed stage with its projects and tokens. It deploys three times, so it
// has to be requested: ZERODAG_CDK=1.
func TestPlainCDK(t *testing.T) {
	if os.Getenv("ZERODAG_CDK") == "" {
		t.Skip("SKIPPED: it takes minutes: set ZERODAG_CDK=1")
	}
	config := localstack.Config(t)
	p := plain{t, "plain-" + strings.ToLower(rand.Text()[:8]), filepath.Join(t.TempDir(), "outputs.json")} // resources left by an earlier run do not collide
	if _, err := p.cdk("bootstrap", "aws://000000000000/us-east-1"); err != nil {
		t.Fatal(err)
	}

	functions := lambda.NewFromConfig(config)
	taken := aws.String("zerodag-" + p.stage + "-tick")
	plant(t, functions, taken)
	if out, err := p.deploy(); err == nil || !strings.Contains(out, "tick") {
		t.Fatal("the deploy did not fail at the function whose name is taken")
	}
	kept := p.table(config)
	if _, err := functions.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: taken}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.deploy(); err != nil {
		t.Fatal("the deploy cannot be repeated")
	}
	if again := p.table(config); again != kept {
		t.Errorf("the table of the first deploy (%s) was not imported by the second, which has made its own (%s)", kept, again)
	}

	first := pusher{t, p.url(), p.token(functions), "kept", server.Build(t)}
	if code, out := first.run(first.folder(10), "push", first.project, "-r", "one"); code != 0 {
		t.Fatal(out)
	}
	p.runMachine(config, first)
	p.remove(first)

	if _, err := p.deploy(); err != nil {
		t.Fatal("the stage does not come back")
	}
	second := first
	second.url = p.url()
	second.runs()
	if code, out := second.run(second.folder(10), "push", second.project, "-r", "two"); code != 0 {
		t.Error(out)
	}
	second.runs()
	p.runMachine(config, second)
	// LocalStack removes the rest of the stack anyway, although CloudFormation would keep it for the next attempt. A
	// machine that finds the functions gone before its cluster is deleted ends without being stopped.
	if out, _ := p.cdk("destroy", "--force"); !strings.Contains(out, "while Tasks are active") && p.machines(config) > 0 {
		t.Error("the removal did not fail at the machine that runs")
	}
	p.stop(second)
}

// machines counts the running machines of the stage; without a cluster, there are none.
func (p plain) machines(config aws.Config) int {
	p.t.Helper()
	list, err := ecs.NewFromConfig(config).ListTasks(p.t.Context(), &ecs.ListTasksInput{Cluster: aws.String("zerodag-" + p.stage + "-commands")})
	var missing *ecstypes.ClusterNotFoundException
	if err != nil && !errors.As(err, &missing) {
		p.t.Fatal(err)
	}
	if list == nil {
		return 0
	}
	return len(list.TaskArns)
}

// stop stops the machines of the stage.
func (p plain) stop(by pusher) {
	p.t.Helper()
	if out, err := exec.CommandContext(p.t.Context(), by.program, "aws", "stop", p.stage).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// remove stops the machines of the stage and removes it.
func (p plain) remove(by pusher) {
	p.t.Helper()
	p.stop(by)
	if out, err := p.cdk("destroy", "--force"); err != nil || strings.Contains(out, "DELETE_FAILED") {
		p.t.Fatal("the stage is not removed after its machines were stopped")
	}
}

// plant creates a function so that CloudFormation cannot create the one with that name.
func plant(t *testing.T, functions *lambda.Client, name *string) {
	t.Helper()
	var code bytes.Buffer
	w := zip.NewWriter(&code)
	if _, err := w.Create("bootstrap"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := functions.CreateFunction(t.Context(), &lambda.CreateFunctionInput{FunctionName: name, Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"),
		Role: aws.String("arn:aws:iam::000000000000:role/x"), Code: &types.FunctionCode{ZipFile: code.Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
}

// table returns the ID of the stage's table, or its creation time if it has none.
func (p plain) table(config aws.Config) string {
	p.t.Helper()
	out, err := dynamodb.NewFromConfig(config).DescribeTable(p.t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("zerodag-" + p.stage + "-table")})
	if err != nil {
		p.t.Fatalf("a deploy that failed has not kept the table: %v", err)
	}
	return aws.ToString(out.Table.TableId) + " " + out.Table.CreationDateTime.String()
}

// url returns the address of the stage's API that the last deploy printed.
func (p plain) url() string {
	p.t.Helper()
	text, err := os.ReadFile(p.outputs)
	if err != nil {
		p.t.Fatal(err)
	}
	var stacks map[string]struct{ Url string }
	if err := json.Unmarshal(text, &stacks); err != nil || stacks["zerodag-"+p.stage].Url == "" {
		p.t.Fatalf("%s: %v", text, err)
	}
	return stacks["zerodag-"+p.stage].Url
}

// token returns the first administrator's token, created by the command that a deploy prints.
func (p plain) token(functions *lambda.Client) string {
	p.t.Helper()
	out, err := functions.Invoke(p.t.Context(), &lambda.InvokeInput{FunctionName: aws.String("zerodag-" + p.stage + "-api"), Payload: []byte(`{"zerodag":"first-token"}`)})
	if err != nil {
		p.t.Fatal(err)
	}
	var answer struct{ Token string }
	if err := json.Unmarshal(out.Payload, &answer); err != nil || answer.Token == "" {
		p.t.Fatalf("%s: %v", out.Payload, err)
	}
	return answer.Token
}

// runMachine starts an endless command and waits for its machine.
func (p plain) runMachine(config aws.Config, by pusher) {
	p.t.Helper()
	folder := p.t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.dig"), []byte("+wait:\n  sh>: sleep 600\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	for _, arguments := range [][]string{{"push", "machines", "-r", rand.Text()}, {"start", "machines", "main", "--session", "now"}} {
		if code, out := by.run(folder, arguments...); code != 0 {
			p.t.Fatal(out)
		}
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	for p.machines(config) == 0 {
		select {
		case <-ctx.Done():
			p.t.Fatal("no machine was launched")
		case <-time.After(200 * time.Millisecond):
		}
	}
}
