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
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	gluetypes "github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	scheduletypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
)

// inBed returns an account on the test bed, with an unused stage.
func inBed(t *testing.T) *account {
	t.Helper()
	c := localstack.Config(t)
	a := newAccount(c, "it"+strings.TrimPrefix(localstack.Name(), "zerodag-test-"))
	a.pause = 10 * time.Millisecond
	return a
}

// planting creates one of the stage's resources, and records how to find it.
type planting struct {
	kind string
	make func(context.Context) error
	name string
}

func (a *account) plantings() []planting {
	x := a.prefix() + "-x"
	group := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			return a.calls.Call(ctx, a.calls.Regional("logs"), "Logs_20140328.CreateLogGroup", map[string]any{"logGroupName": name}, nil)
		}
	}
	return []planting{
		{"queue", func(ctx context.Context) error {
			_, err := a.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &x})
			return err
		}, x},
		{"table", a.plantTable, x},
		{"bucket", a.plantBucket, x},
		{"parameter", func(ctx context.Context) error {
			_, err := a.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/zerodag/" + a.stage + "/0/1/secret"), Value: aws.String("v"), Type: "SecureString"})
			return err
		}, "/0/1/secret"},
		{"log group", group("/aws/lambda/" + x), "/aws/lambda/" + x},
		{"log group", group("/zerodag/" + a.stage + "/runner"), "/runner"},
		{"rule", func(ctx context.Context) error {
			_, err := a.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &x, EventPattern: aws.String(`{"source":["none"]}`)})
			return err
		}, "default " + x},
		{"schedule", func(ctx context.Context) error {
			_, err := a.schedule.CreateSchedule(ctx, &scheduler.CreateScheduleInput{Name: &x, ScheduleExpression: aws.String("at(2099-01-01T00:00:00)"),
				FlexibleTimeWindow: &scheduletypes.FlexibleTimeWindow{Mode: scheduletypes.FlexibleTimeWindowModeOff},
				Target:             &scheduletypes.Target{Arn: aws.String("arn:aws:sqs:us-east-1:000000000000:" + x), RoleArn: aws.String("arn:aws:iam::000000000000:role/any")}})
			return err
		}, x},
		{"task definition", func(ctx context.Context) error {
			_, err := a.ecs.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: &x, ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("c"), Image: aws.String("i")}},
				RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate}, NetworkMode: ecstypes.NetworkModeAwsvpc, Cpu: aws.String("256"), Memory: aws.String("512")})
			return err
		}, x + ":1"},
		{"stack", func(ctx context.Context) error {
			_, err := a.cloudFormation(ctx, "CreateStack", url.Values{"StackName": {a.prefix()}, "TemplateBody": {`{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}`}})
			return err
		}, a.prefix()},
		{"tagged", func(ctx context.Context) error { // from a service that the program does not know
			_, err := glue.NewFromConfig(a.config).CreateJob(ctx, &glue.CreateJobInput{Name: &x, Role: aws.String("r"), Command: &gluetypes.JobCommand{Name: aws.String("glueetl")}, Tags: map[string]string{runTag: a.stage}})
			return err
		}, ":job/"},
	}
}

// plantTable makes a protected table.
func (a *account) plantTable(ctx context.Context) error {
	_, err := a.dynamodb.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String(a.prefix() + "-x"), BillingMode: dynamotypes.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true),
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("p"), AttributeType: "S"}}, KeySchema: []dynamotypes.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: "HASH"}}})
	return err
}

// plantBucket makes a bucket with two versions of an object, a delete marker and an unfinished upload.
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

// TestLeftBehind checks that all leftovers of a stage are found, by name or by the tag of the stack, and fail the run
// with their names; that they are removed only if a run has made the stage; and that leftovers that cannot be removed
// are reported again.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	a, other := inBed(t), inBed(t)
	ctx := t.Context()
	if list, err := a.leftovers(ctx); err != nil || len(list) > 0 {
		t.Fatalf("before anything is made: %v, %v", list, err)
	}
	other.stage = a.stage + "b" // whose names begin with ours except for the hyphen
	for _, p := range append(a.plantings(), other.plantings()[:2]...) {
		if err := p.make(ctx); err != nil {
			t.Fatalf("%s: %v", p.kind, err)
		}
	}
	found, err := a.leftovers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.plantings() {
		if !slices.ContainsFunc(found, func(l leftover) bool { return l.Kind == p.kind && strings.Contains(l.Name, p.name) }) {
			t.Errorf("the %s is not found: %v", p.kind, found)
		}
	}
	if strings.Contains(lines(found), other.prefix()+"-") {
		t.Errorf("another stage's are found: %v", found)
	}
	if err := a.begin(ctx, t.TempDir(), "c", "v", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "exists, and a run") {
		t.Errorf("a run in a stage that is there: %v", err)
	}
	if err := a.remove(ctx, "", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
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
		t.Fatalf("what only its owner can remove is not reported: %v", err)
	}
	for _, k := range kinds() {
		if stays := strings.Contains(err.Error(), "\n  "+k.name+" "); stays && k.remove != nil {
			t.Errorf("the %s is not removed: %v", k.name, err)
		}
	}
	if text, e := report(folder, time.Now()); e != nil || !strings.Contains(text, "tagged arn:aws:glue:") {
		t.Errorf("the report does not name what is left: %v\n%s", e, text)
	}
	if err := a.marked(ctx); err != nil {
		t.Errorf("nobody may try again: %v", err)
	}
	if list, err := other.leftovers(ctx); err != nil || len(list) != 2 {
		t.Errorf("of another stage there is %v: %v", list, err)
	}
}

// TestMark checks that a run marks its stage, and that a run that made nothing leaves nothing behind.
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

// TestMachinesAreCounted checks that a machine is charged for its time and size, for at least a minute, and only if it
// began in the run.
func TestMachinesAreCounted(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-2 * time.Hour)
	machine := func(after, took time.Duration, attributes ...ecstypes.Attribute) ecstypes.Task {
		return ecstypes.Task{PullStartedAt: aws.Time(began.Add(after)), StoppedAt: aws.Time(began.Add(after + took)), Cpu: aws.String("512"), Memory: aws.String("2048"), Attributes: attributes}
	}
	arm := ecstypes.Attribute{Name: aws.String("ecs.cpu-architecture"), Value: aws.String("arm64")}
	list := machineUsage([]ecstypes.Task{machine(0, time.Hour), machine(time.Minute, time.Second), machine(0, time.Hour, arm), machine(-time.Minute, time.Hour), {}}, began)
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprintf("%s %.3f", m.Type, m.Quantity))
	}
	want := []string{"Fargate-vCPU-Hours:perCPU (3 machines of both kinds) 0.508", "Fargate-GB-Hours 2.033", "Fargate-ARM-vCPU-Hours:perCPU 0.500", "Fargate-ARM-GB-Hours 2.000", "PublicIPv4:InUseAddress 2.017"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNames checks which names belong to a stage: a run removes all of them.
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

// fake is an account that answers as AWS documents, for operations that LocalStack does not support: by the name of an
// operation, one response after the other, and then the last one forever.
type fake struct {
	answers map[string][]string
	asked   []string // "OPERATION BODY"
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if form, err := url.ParseQuery(string(body)); operation == "" && err == nil {
		operation = form.Get("Action")
	}
	f.asked = append(f.asked, operation+" "+string(body))
	list := f.answers[operation]
	if len(list) == 0 {
		http.Error(w, `{}`, http.StatusBadRequest)
		return
	}
	if len(list) > 1 {
		f.answers[operation] = list[1:]
	}
	if strings.Contains(list[0], "<Error>") {
		w.WriteHeader(http.StatusBadRequest)
	}
	fmt.Fprint(w, list[0])
}

func (f *fake) open(t *testing.T) *account {
	t.Helper()
	server := httptest.NewServer(localstack.Judged(t, f))
	t.Cleanup(server.Close)
	a := newAccount(aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, "it1")
	a.near, a.pause = false, time.Millisecond
	return a
}

// TestUserPools checks that only the user pools of the stage are found, page by page, and that a pool is removed
// together with its address and despite its protection.
func TestUserPools(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string][]string{
		"ListUserPools": {`{"UserPools":[{"Id":"eu-central-1_A","Name":"zerodag-it12-people"},{"Id":"eu-central-1_C","Name":"payroll"}],"NextToken":"n"}`,
			`{"UserPools":[{"Id":"eu-central-1_B","Name":"zerodag-it1-people"}]}`},
		"DescribeUserPool": {`{"UserPool":{"Id":"eu-central-1_B","Domain":"zerodag-it1-111111111111","DeletionProtection":"ACTIVE"}}`}, "DeleteUserPoolDomain": {""}, "UpdateUserPool": {"{}"}, "DeleteUserPool": {""}}}
	a := f.open(t)
	list, err := a.userPools(t.Context())
	if err != nil || !slices.Equal(list, []string{"zerodag-it1-people eu-central-1_B"}) {
		t.Fatalf("%v, %v", list, err)
	}
	f.asked = nil
	if err := a.removeUserPool(t.Context(), list[0]); err != nil {
		t.Fatal(err)
	}
	want := []string{"DescribeUserPool ", `DeleteUserPoolDomain {"Domain":"zerodag-it1-111111111111"`, `UpdateUserPool {"AutoVerifiedAttributes":["email"],"DeletionProtection":"INACTIVE"`, `DeleteUserPool {"UserPoolId":"eu-central-1_B"`}
	if len(f.asked) != len(want) {
		t.Fatalf("asked %q", f.asked)
	}
	for i, begin := range want {
		if !strings.HasPrefix(f.asked[i], begin) {
			t.Errorf("asked %s, want %s", f.asked[i], begin)
		}
	}
}

const (
	described = `<R><DescribeStacksResult><Stacks><member><StackName>zerodag-it1</StackName><StackStatus>%s</StackStatus><StackStatusReason>%s</StackStatusReason></member></Stacks></DescribeStacksResult></R>`
	noStack   = `<R><Error><Code>ValidationError</Code><Message>Stack with id zerodag-it1 does not exist</Message></Error></R>`
)

// TestStackIsRemoved checks that CloudFormation is polled until the stack is gone, and that the reason for a failure is
// reported.
func TestStackIsRemoved(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string][]string{"DeleteStack": {"<R/>"},
		"DescribeStacks": {fmt.Sprintf(described, "CREATE_FAILED", ""), fmt.Sprintf(described, "DELETE_IN_PROGRESS", ""), fmt.Sprintf(described, "DELETE_FAILED", "a bus has rules"), fmt.Sprintf(described, "DELETE_IN_PROGRESS", ""), noStack}}}
	a := f.open(t)
	list, err := a.stacks(t.Context())
	if err != nil || !slices.Equal(list, []string{"zerodag-it1"}) {
		t.Fatalf("%v, %v", list, err)
	}
	if err := a.removeStack(t.Context(), list[0]); err == nil || !strings.Contains(err.Error(), "a bus has rules") {
		t.Errorf("a deletion that failed: %v", err)
	}
	if err := a.removeStack(t.Context(), list[0]); err != nil {
		t.Error(err)
	}
	if list, err := a.stacks(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("a stack that is gone: %v, %v", list, err)
	}
}

// TestTagged checks that tagged resources of any service are found, except resources that other lists show or that
// CloudFormation reports as deleted, whose tags stay for a while.
func TestTagged(t *testing.T) {
	t.Parallel()
	resource := func(arn, key, value string) string {
		return fmt.Sprintf(`{"ResourceARN":"arn:aws:%s","Tags":[{"Key":%q,"Value":%q}]}`, arn, key, value)
	}
	page := func(token string, list ...string) string {
		return fmt.Sprintf(`{"PaginationToken":%q,"ResourceTagMappingList":[%s]}`, token, strings.Join(list, ","))
	}
	everything := []string{
		page("n", resource("sns:eu-central-1:1:zerodag-it1-notices", stackTag, "zerodag-it1"), resource("dynamodb:eu-central-1:1:table/zerodag-it1-table", stackTag, "zerodag-it1"),
			resource("ecs:eu-central-1:1:cluster/zerodag-it1-commands", stackTag, "zerodag-it1"), resource("kms:eu-central-1:1:key/k1", stackTag, "zerodag-it1"), resource("lambda:eu-central-1:1:function:zerodag-it1-api", stackTag, "zerodag-it1")),
		page("", resource("glue:eu-central-1:1:job/other", runTag, "it1"), resource("events:eu-central-1:1:event-bus/zerodag-it1-bus", runTag, "it1"), resource("glue:eu-central-1:1:job/strange", runTag, "it12")),
		page("", resource("glue:eu-central-1:1:job/mine", runTag, "it1"), resource("sns:eu-central-1:1:zerodag-it1-notices", runTag, "it1")),
	}
	f := &fake{answers: map[string][]string{"GetResources": everything,
		"ListStacks": {`<R><ListStacksResult><StackSummaries><member><StackName>zerodag-it12</StackName><StackId>s2</StackId></member></StackSummaries><NextToken>n</NextToken></ListStacksResult></R>`,
			`<R><ListStacksResult><StackSummaries><member><StackName>zerodag-it1</StackName><StackId>s1</StackId></member></StackSummaries></ListStacksResult></R>`},
		"ListStackResources": {`<R><ListStackResourcesResult><StackResourceSummaries><member><PhysicalResourceId>arn:aws:sns:eu-central-1:1:zerodag-it1-notices</PhysicalResourceId><ResourceStatus>DELETE_COMPLETE</ResourceStatus></member>` +
			`<member><PhysicalResourceId>zerodag-it1-commands</PhysicalResourceId><ResourceStatus>DELETE_COMPLETE</ResourceStatus></member><member><PhysicalResourceId>k1</PhysicalResourceId><ResourceStatus>DELETE_SKIPPED</ResourceStatus></member>` +
			`<member><PhysicalResourceId>api</PhysicalResourceId><ResourceStatus>DELETE_COMPLETE</ResourceStatus></member></StackResourceSummaries></ListStackResourcesResult></R>`}}}
	got, err := f.open(t).tagged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"arn:aws:glue:eu-central-1:1:job/mine", "arn:aws:kms:eu-central-1:1:key/k1", "arn:aws:lambda:eu-central-1:1:function:zerodag-it1-api"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
