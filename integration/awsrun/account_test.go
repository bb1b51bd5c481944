package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	gluetypes "github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"zerodag/integration/localstack"
)

// inBed is an account on the test bed, with a stage that nobody else has.
func inBed(t *testing.T) *account {
	t.Helper()
	c := localstack.Config(t)
	a := newAccount(c, "it"+strings.TrimPrefix(localstack.Name(), "zerodag-test-"))
	a.pause = 10 * time.Millisecond
	return a
}

// planting makes a resource of the stage, and says by what it is to be found.
type planting struct {
	kind string
	make func(context.Context) error
	name string
}

func (a *account) plantings() []planting {
	x := a.prefix() + "-x"
	form := func(service, version, action string, values url.Values) func(context.Context) error {
		return func(ctx context.Context) error {
			var none struct{}
			return a.form(ctx, service, version, action, values, &none)
		}
	}
	return []planting{
		{"queue", func(ctx context.Context) error {
			_, err := a.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &x})
			return err
		}, x},
		{"topic", func(ctx context.Context) error {
			_, err := a.sns.CreateTopic(ctx, &sns.CreateTopicInput{Name: &x})
			return err
		}, x},
		{"table", a.plantTable, x},
		{"bucket", a.plantBucket, x},
		{"parameter", func(ctx context.Context) error {
			_, err := a.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/zerodag/" + a.stage + "/0/1/secret"), Value: aws.String("v"), Type: "SecureString"})
			return err
		}, "/0/1/secret"},
		{"secret", func(ctx context.Context) error {
			return a.target(ctx, "secretsmanager", "secretsmanager.CreateSecret", map[string]any{"Name": x, "SecretString": "v", "ClientRequestToken": "0123456789012345678901234567890123456789"}, nil)
		}, x},
		{"log group", func(ctx context.Context) error {
			return a.target(ctx, "logs", "Logs_20140328.CreateLogGroup", map[string]any{"logGroupName": "/aws/lambda/" + x}, nil)
		}, "/aws/lambda/" + x},
		{"log group", func(ctx context.Context) error {
			return a.target(ctx, "logs", "Logs_20140328.CreateLogGroup", map[string]any{"logGroupName": "/zerodag/" + a.stage + "/runner"}, nil)
		}, "/runner"},
		{"rule", func(ctx context.Context) error {
			_, err := a.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &x, EventPattern: aws.String(`{"source":["none"]}`)})
			return err
		}, "default " + x},
		{"event bus", func(ctx context.Context) error {
			_, err := a.events.CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: &x})
			return err
		}, x},
		{"cluster", func(ctx context.Context) error {
			_, err := a.ecs.CreateCluster(ctx, &ecs.CreateClusterInput{ClusterName: &x})
			return err
		}, x},
		{"alarm", form("monitoring", metricVersion, "PutMetricAlarm", url.Values{"AlarmName": {x}, "MetricName": {"m"}, "Namespace": {"n"}, "Statistic": {"Sum"}, "Period": {"60"},
			"EvaluationPeriods": {"1"}, "Threshold": {"1"}, "ComparisonOperator": {"GreaterThanThreshold"}}), x},
		{"role", form("iam", roleVersion, "CreateRole", url.Values{"RoleName": {x}, "AssumeRolePolicyDocument": {`{"Version":"2012-10-17","Statement":[]}`}}), x},
		{"VPC", form("ec2", networkVersion, "CreateVpc", url.Values{"CidrBlock": {"10.9.0.0/16"}, "TagSpecification.1.ResourceType": {"vpc"},
			"TagSpecification.1.Tag.1.Key": {"Name"}, "TagSpecification.1.Tag.1.Value": {"Zerodag-" + a.stage + "/Network"}}), "vpc-"},
		{"security group", form("ec2", networkVersion, "CreateSecurityGroup", url.Values{"GroupName": {x}, "GroupDescription": {"x"}}), "sg-"},
		{"tagged", func(ctx context.Context) error { // of a service that nobody has thought of
			_, err := glue.NewFromConfig(a.config).CreateJob(ctx, &glue.CreateJobInput{Name: &x, Role: aws.String("r"), Command: &gluetypes.JobCommand{Name: aws.String("glueetl")}, Tags: map[string]string{runTag: a.stage}})
			return err
		}, ":job/"},
	}
}

// plantTable makes one that is protected.
func (a *account) plantTable(ctx context.Context) error {
	_, err := a.dynamodb.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String(a.prefix() + "-x"), BillingMode: dynamotypes.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true),
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("p"), AttributeType: "S"}}, KeySchema: []dynamotypes.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: "HASH"}}})
	return err
}

// plantBucket makes one with two versions of an object, a mark of a deletion and an upload that never ended.
func (a *account) plantBucket(ctx context.Context) error {
	name, key := aws.String(a.prefix()+"-x"), aws.String("k")
	if _, err := a.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name}); err != nil {
		return err
	}
	if _, err := a.s3.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: name, VersioningConfiguration: &s3types.VersioningConfiguration{Status: "Enabled"}}); err != nil {
		return err
	}
	for _, body := range []string{"1", "2"} {
		if _, err := a.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: name, Key: key, Body: strings.NewReader(body)}); err != nil {
			return err
		}
	}
	if _, err := a.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: name, Key: key}); err != nil {
		return err
	}
	_, err := a.s3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: name, Key: key})
	return err
}

// TestLeftBehind proves that whatever is left of a stage is found, by its name or by the tag of its
// stack, and fails the run with its name; that it is removed if a run has made the stage, and only then;
// and that what cannot be removed is said again.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	a, other := inBed(t), inBed(t)
	ctx := t.Context()
	if err := a.check(ctx, &bytes.Buffer{}); err != nil {
		t.Fatalf("before anything is made: %v", err)
	}
	other.stage = a.stage + "b" // whose names begin with all of ours but the hyphen
	for _, p := range append(a.plantings(), other.plantings()[:2]...) {
		if err := p.make(ctx); err != nil {
			t.Fatalf("%s: %v", p.kind, err)
		}
	}
	err := a.check(ctx, &bytes.Buffer{})
	if err == nil {
		t.Fatal("nothing was found")
	}
	found := strings.Split(err.Error(), "\n")
	for _, p := range a.plantings() {
		if !slices.ContainsFunc(found, func(line string) bool {
			return strings.HasPrefix(line, "  "+p.kind+" ") && strings.Contains(line, p.name)
		}) {
			t.Errorf("the %s is not found:\n%v", p.kind, err)
		}
	}
	if strings.Contains(err.Error(), other.prefix()+"-") {
		t.Errorf("another stage's are found:\n%v", err)
	}
	if err := a.begin(ctx, t.TempDir(), "c", "v", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a run in a stage that is there: %v", err)
	}
	if err := a.remove(ctx, "", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "nothing is removed") {
		t.Errorf("a stage that no run has made: %v", err)
	}
	if list, err := a.leftovers(ctx); err != nil || len(list) != len(a.plantings()) {
		t.Errorf("%d are left, want all %d: %v", len(list), len(a.plantings()), err)
	}
	if err := a.setMark(ctx, "a test"); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	err = a.remove(ctx, folder, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "LEFT BEHIND") {
		t.Fatalf("what goes with the stack only was removed: %v", err)
	}
	for _, k := range kinds() {
		if stays := strings.Contains(err.Error(), "\n  "+k.name+" "); stays && k.remove != nil {
			t.Errorf("the %s is not removed: %v", k.name, err)
		}
	}
	if text, e := report(folder, time.Now()); e != nil || !strings.Contains(text, "cluster "+a.prefix()+"-x") {
		t.Errorf("the report does not name what is left: %v\n%s", e, text)
	}
	if err := a.marked(ctx); err != nil {
		t.Errorf("nobody may try again: %v", err)
	}
	if list, err := other.leftovers(ctx); err != nil || len(list) != 2 {
		t.Errorf("of another stage there is %v: %v", list, err)
	}
}

// TestMark proves that a run marks its stage, and that nothing is left of one that made nothing.
func TestMark(t *testing.T) {
	t.Parallel()
	a, folder := inBed(t), t.TempDir()
	var said bytes.Buffer
	if err := a.begin(t.Context(), folder, "c", "v", &said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"account 000000000000", "region us-east-1", "stage " + a.stage, "about $"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, &said)
		}
	}
	if err := a.begin(t.Context(), folder, "c", "v", &said); err == nil {
		t.Error("two runs share a stage")
	}
	if err := a.remove(t.Context(), folder, &said); err != nil {
		t.Error(err)
	}
	if err := a.marked(t.Context()); err == nil {
		t.Error("the mark is left")
	}
}

// TestUsageIsSummed proves that what CloudWatch has counted since the begin of a run is summed up, and
// what was before it is not.
func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	a := inBed(t)
	now := time.Now().UTC()
	put := func(value string, at time.Time) {
		var none struct{}
		if err := a.form(t.Context(), "monitoring", metricVersion, "PutMetricData", url.Values{"Namespace": {a.prefix()}, "MetricData.member.1.MetricName": {"m"}, "MetricData.member.1.Value": {value},
			"MetricData.member.1.Timestamp": {at.Format(time.RFC3339)}, "MetricData.member.1.Dimensions.member.1.Name": {"d"}, "MetricData.member.1.Dimensions.member.1.Value": {"1"}}, &none); err != nil {
			t.Fatal(err)
		}
	}
	put("3", now)
	put("4", now.Add(-10*time.Minute))
	put("100", now.Add(-2*time.Hour))
	got, err := a.sum(t.Context(), a.prefix(), "m", now.Add(-time.Hour), "d", "1")
	if err != nil || got != 7 {
		t.Errorf("%v %v, want 7", got, err)
	}
}

// TestNames proves which names are of a stage: a run removes all of these.
func TestNames(t *testing.T) {
	t.Parallel()
	a := newAccount(aws.Config{Region: "eu-central-1"}, "it1")
	for name, want := range map[string]bool{"zerodag-it1": true, "zerodag-it1-table": true, "zerodag-it1.x": true, "/zerodag/it1/api": true, "/zerodag/it1": true, "/aws/vendedlogs/zerodag/it1/access": true,
		"/zerodag-keys/it1/run": true, "zerodag-it12-table": false, "zerodag-main-table": false, "zerodag": false, "": false, "/zerodag/it12/api": false, "my-zerodag-it1-x": false} {
		if got := a.owns(name); got != want {
			t.Errorf("%q is of stage it1: %v", name, got)
		}
	}
	for _, name := range []string{"", "i", "main-x", "Main", "1a", strings.Repeat("a", 18), "a/b"} {
		if _, err := open(t.Context(), name); err == nil || !strings.Contains(err.Error(), "cannot be the stage") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestUserPools proves that the user pools of the stage are found, page by page, those of others are not, and that one
// is removed with its address, and in spite of its protection. LocalStack has no Cognito: an answer is what AWS documents.
func TestUserPools(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(localstack.Judged(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, operation+" "+string(body))
		switch {
		case operation == "ListUserPools" && strings.Contains(string(body), "NextToken"):
			fmt.Fprint(w, `{"UserPools":[{"Id":"eu-central-1_B","Name":"zerodag-it1-people"}]}`)
		case operation == "ListUserPools":
			fmt.Fprint(w, `{"UserPools":[{"Id":"eu-central-1_A","Name":"zerodag-it12-people"},{"Id":"eu-central-1_C","Name":"payroll"}],"NextToken":"n"}`)
		case operation == "DescribeUserPool":
			fmt.Fprint(w, `{"UserPool":{"Id":"eu-central-1_B","Domain":"zerodag-it1-111111111111","DeletionProtection":"ACTIVE"}}`)
		}
	})))
	defer server.Close()
	a := newAccount(aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, "it1")
	a.near = false
	list, err := a.userPools(t.Context())
	if err != nil || !slices.Equal(list, []string{"zerodag-it1-people eu-central-1_B"}) {
		t.Fatalf("%v, %v", list, err)
	}
	asked = nil
	if err := a.removeUserPool(t.Context(), list[0]); err != nil {
		t.Fatal(err)
	}
	want := []string{"DescribeUserPool ", `DeleteUserPoolDomain {"Domain":"zerodag-it1-111111111111"`, `UpdateUserPool {"AutoVerifiedAttributes":["email"],"DeletionProtection":"INACTIVE"`, `DeleteUserPool {"UserPoolId":"eu-central-1_B"`}
	if len(asked) != len(want) {
		t.Fatalf("asked %q", asked)
	}
	for i, begin := range want {
		if !strings.HasPrefix(asked[i], begin) {
			t.Errorf("asked %s, want %s", asked[i], begin)
		}
	}
}
