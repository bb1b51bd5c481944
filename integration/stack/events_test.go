package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bridge "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedules "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	queues "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"zerodag/events"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
)

// account is the account that the stack is deployed to, with the stack as a client sees it.
type account struct {
	*stack.Stack
	t      *testing.T
	config aws.Config
	name   string // of the test's resources
}

func openAccount(t *testing.T) account {
	t.Helper()
	s := stack.Deployed(t)
	c, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The resources of a run on an account are found by the name of its stage.
	return account{s, t, c, "zerodag-" + s.Stage + strings.TrimPrefix(localstack.Name(), "zerodag")}
}

func (a account) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// arn returns the ARN of a resource in the account.
func (a account) arn(service, name string) string {
	a.t.Helper()
	who, err := sts.NewFromConfig(a.config).GetCallerIdentity(a.t.Context(), &sts.GetCallerIdentityInput{})
	a.must(err)
	region := a.config.Region
	if service == "iam" {
		region = ""
	}
	return "arn:aws:" + service + ":" + region + ":" + *who.Account + ":" + name
}

// function returns the target of schedules and rules, and the role with which schedules call it, which is an output of
// the stack and is not checked by the test bed.
func (a account) function() (function, role string) {
	if role = os.Getenv("ZERODAG_SCHEDULER_ROLE"); role == "" {
		role = a.arn("iam", "role/any")
	}
	return a.arn("lambda", "function:zerodag-"+a.Stage+"-tick"), role
}

// queue makes a queue that the bus and the topic may send to, and returns its URL and ARN.
func (a account) queue() (url, arn string) {
	a.t.Helper()
	client := sqs.NewFromConfig(a.config)
	out, err := client.CreateQueue(a.t.Context(), &sqs.CreateQueueInput{QueueName: &a.name, Attributes: map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sns.amazonaws.com"]},"Action":"sqs:SendMessage","Resource":"*"}]}`}})
	a.must(err)
	localstack.Cleanup(a.t, func(ctx context.Context) error {
		_, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
		return err
	})
	attributes, err := client.GetQueueAttributes(a.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: out.QueueUrl, AttributeNames: []queues.QueueAttributeName{queues.QueueAttributeNameQueueArn}})
	a.must(err)
	return *out.QueueUrl, attributes.Attributes["QueueArn"]
}

// rule sends events from a bus to a target.
func (a account) rule(bus, pattern string, target bridge.Target) {
	a.t.Helper()
	client := eventbridge.NewFromConfig(a.config)
	_, err := client.PutRule(a.t.Context(), &eventbridge.PutRuleInput{Name: &a.name, EventBusName: &bus, EventPattern: &pattern})
	a.must(err)
	target.Id = aws.String("1")
	_, err = client.PutTargets(a.t.Context(), &eventbridge.PutTargetsInput{Rule: &a.name, EventBusName: &bus, Targets: []bridge.Target{target}})
	a.must(err)
	localstack.Cleanup(a.t, func(ctx context.Context) error {
		if _, err := client.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &a.name, EventBusName: &bus, Ids: []string{"1"}}); err != nil {
			return err
		}
		_, err := client.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &a.name, EventBusName: &bus})
		return err
	})
}

// messages receives until enough returns true, for at most two minutes.
func (a account) messages(url string, enough func(bodies []string) bool) []string {
	a.t.Helper()
	client := sqs.NewFromConfig(a.config)
	var bodies []string
	for end := time.Now().Add(2 * time.Minute); !enough(bodies); {
		if time.Now().After(end) {
			a.t.Fatalf("received only %d messages:\n%s", len(bodies), strings.Join(bodies, "\n"))
		}
		out, err := client.ReceiveMessage(a.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2})
		a.must(err)
		for _, m := range out.Messages {
			bodies = append(bodies, *m.Body)
			_, err := client.DeleteMessage(a.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			a.must(err)
		}
	}
	return bodies
}

// attempt waits for the first attempt of a workflow.
func (a account) attempt(project, workflow string) stack.Attempt {
	a.t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		list, err := a.Attempts(a.t.Context(), project, workflow)
		a.must(err)
		if len(list) > 0 {
			done, err := a.Wait(a.t.Context(), list[0].ID)
			a.must(err)
			return done
		}
	}
	a.t.Fatalf("nothing started workflow %s of project %s", workflow, project)
	return stack.Attempt{}
}

// TestAnnounced checks that starts, ends of each kind and missed times of `sla:` are sent to the bus, and that notices
// of failures go to the topic.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	bus, notices := "zerodag-"+a.Stage+"-bus", a.arn("sns", "zerodag-"+a.Stage+"-notices")
	url, arn := a.queue()
	a.rule(bus, fmt.Sprintf(`{"source":["zerodag"],"detail":{"project":[%q]}}`, a.name), bridge.Target{Arn: &arn})
	topic := sns.NewFromConfig(a.config)
	subscribed, err := topic.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: &notices, Protocol: aws.String("sqs"), Endpoint: &arn, ReturnSubscriptionArn: true,
		Attributes: map[string]string{"RawMessageDelivery": "true", "FilterPolicy": fmt.Sprintf(`{"project_name":[%q]}`, a.name)}})
	a.must(err)
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := topic.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: subscribed.SubscriptionArn})
		return err
	})
	p, err := a.Push(t.Context(), a.name, map[string]string{
		"fine.dig": "+a:\n  echo>: x\n", "bad.dig": "+a:\n  fail>: on purpose\n", "long.dig": "+a:\n  wait>: 1h\n",
		"late.dig": "sla:\n  duration: 00:00:01\n  alert: false\n+a:\n  wait>: 4s\n"})
	a.must(err)
	session := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, id := range p.Workflows {
		started, err := a.Start(t.Context(), id, session)
		a.must(err)
		if name == "long" {
			a.must(a.Post(t.Context(), "/api/attempts/"+started.ID+"/kill", map[string]any{}, nil))
		}
	}
	want := []string{"Attempt Failed bad error", "Attempt Killed long killed", "Attempt Started bad running", "Attempt Started fine running", "Attempt Started late running",
		"Attempt Started long running", "Attempt Succeeded fine success", "Attempt Succeeded late success", "SLA Missed late running", "notice bad Workflow session attempt failed"}
	var got []string
	a.messages(url, func(bodies []string) bool {
		got = nil
		for _, b := range bodies {
			got = append(got, a.describe(b, session))
		}
		slices.Sort(got)
		got = slices.Compact(got) // each is announced at least once
		return len(got) >= len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// describe describes the subject of a message, in one line.
func (a account) describe(body string, session time.Time) string {
	var e struct {
		DetailType   string `json:"detail-type"`
		Detail       events.AttemptDetail
		Message      string
		WorkflowName string `json:"workflow_name"`
	}
	a.must(json.Unmarshal([]byte(body), &e))
	if e.DetailType == "" {
		return "notice " + e.WorkflowName + " " + e.Message
	}
	at, err := time.Parse(time.RFC3339, e.Detail.SessionTime)
	if err != nil || !at.Equal(session) || e.Detail.V != 1 || !strings.HasPrefix(e.Detail.ID, e.Detail.AttemptID+"/") || e.Detail.Project != a.name {
		a.t.Errorf("event: %s", body)
	}
	return e.DetailType + " " + e.Detail.Workflow + " " + e.Detail.Status
}

const echoParams = "+a:\n  echo>: ${who}\n"

// TestStartByBus checks that an event with the source zerodag.start starts a workflow with its parameters, for its
// session time.
func TestStartByBus(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	bus := "zerodag-" + a.Stage + "-bus"
	_, err := a.Push(t.Context(), a.name, map[string]string{"wf.dig": echoParams})
	a.must(err)
	detail := fmt.Sprintf(`{"project":%q,"workflow":"wf","params":{"who":"bus"},"session_time":"2026-01-02T03:04:05+00:00"}`, a.name)
	out, err := eventbridge.NewFromConfig(a.config).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []bridge.PutEventsRequestEntry{{
		EventBusName: &bus, Source: aws.String(events.StartSource), DetailType: aws.String("start"), Detail: &detail}}})
	a.must(err)
	if out.FailedEntryCount > 0 {
		t.Fatalf("%v", out.Entries)
	}
	if x := a.attempt(a.name, "wf"); !x.Success || !strings.HasPrefix(x.SessionTime, "2026-01-02T03:04:05") {
		t.Errorf("%+v", x)
	}
}

// TestStartOnce checks that the same event sent twice, or the same input of a schedule, starts a workflow once, and
// that an invalid event starts nothing and does not make the function fail.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	if stack.Deployed(t).Far() {
		t.Skip("NOT RUN on an account: AWS does not let a test choose the id of an event")
	}
	a := openAccount(t)
	_, err := a.Push(t.Context(), a.name, map[string]string{"wf.dig": echoParams, "other.dig": echoParams})
	a.must(err)
	for _, payload := range []string{
		`{"version":"0","id":"one","source":"zerodag.start","time":"2026-01-02T03:04:05Z","detail":{"project":%q,"workflow":"wf","params":{"who":"x"}}}`,
		`{"id":"two","time":"2026-01-02T03:04:05Z","project":%q,"workflow":"other","params":{"who":"x"}}`,
		`{"project":%q,"workflow":"other","params":{"who":"no id"}}`,
		`{"id":"three","time":"2026-01-02T03:04:05Z","project":%q,"workflow":"other","params":"no object"}`,
		`{"id":"four","time":"2026-01-02T03:04:05Z","project":%q,"workflow":"nowhere"}`,
		`{"id":"five","session_time":"nonsense","project":%q,"workflow":"wf"}`,
	} {
		for range 2 {
			a.must(proxy.Invoke(t.Context(), a.Stage, "tick", json.RawMessage(fmt.Sprintf(payload, a.name))))
		}
	}
	for _, name := range []string{"wf", "other"} {
		list, err := a.Attempts(t.Context(), a.name, name)
		a.must(err)
		if len(list) != 1 {
			t.Errorf("%d attempts of %s, want 1", len(list), name)
		}
	}
}

// TestStartBySchedule checks that a schedule of EventBridge Scheduler, set up as docs/aws.md shows, starts a workflow
// once, although Scheduler calls again when a response is lost.
func TestStartBySchedule(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	_, err := a.Push(t.Context(), a.name, map[string]string{"wf.dig": echoParams})
	a.must(err)
	function, role := a.function()
	input := fmt.Sprintf(`{"id":"<aws.scheduler.schedule-arn>/<aws.scheduler.scheduled-time>","time":"<aws.scheduler.scheduled-time>","project":%q,"workflow":"wf","params":{"who":"scheduler"}}`, a.name)
	client := scheduler.NewFromConfig(a.config)
	at := time.Now().UTC().Add(3 * time.Second).Truncate(time.Second)
	_, err = client.CreateSchedule(t.Context(), &scheduler.CreateScheduleInput{Name: &a.name, ScheduleExpression: aws.String("at(" + at.Format("2006-01-02T15:04:05") + ")"),
		FlexibleTimeWindow: &schedules.FlexibleTimeWindow{Mode: schedules.FlexibleTimeWindowModeOff},
		Target:             &schedules.Target{Arn: &function, RoleArn: &role, Input: &input}})
	a.must(err)
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &a.name})
		return err
	})
	if x := a.attempt(a.name, "wf"); !x.Success {
		t.Errorf("%+v", x)
	}
	if list, err := a.Attempts(t.Context(), a.name, "wf"); err != nil || len(list) != 1 {
		t.Errorf("%d attempts, want 1: %v", len(list), err)
	}
}

// TestStartByObject checks that a new object in a bucket starts a workflow that gets the object's key, by a rule as in
// docs/aws.md.
func TestStartByObject(t *testing.T) {
	t.Parallel()
	a := openAccount(t)
	_, err := a.Push(t.Context(), a.name, map[string]string{"ok.dig": "+a:\n  if>: ${key == 'in/file.csv'}\n  _do:\n    echo>: ${key}\n  _else_do:\n    fail>: ${key}\n"})
	a.must(err)
	client := s3.NewFromConfig(a.config)
	_, err = client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &a.name})
	a.must(err)
	localstack.Cleanup(t, func(ctx context.Context) error {
		if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &a.name, Key: aws.String("in/file.csv")}); err != nil {
			return err
		}
		_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &a.name})
		return err
	})
	_, err = client.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{Bucket: &a.name,
		NotificationConfiguration: &s3types.NotificationConfiguration{EventBridgeConfiguration: &s3types.EventBridgeConfiguration{}}})
	a.must(err)
	function, _ := a.function()
	a.rule("default", fmt.Sprintf(`{"source":["aws.s3"],"detail-type":["Object Created"],"detail":{"bucket":{"name":[%q]}}}`, a.name), bridge.Target{Arn: &function,
		InputTransformer: &bridge.InputTransformer{InputPathsMap: map[string]string{"id": "$.id", "time": "$.time", "key": "$.detail.object.key"},
			InputTemplate: aws.String(fmt.Sprintf(`{"id": <id>, "time": <time>, "project": %q, "workflow": "ok", "params": {"key": <key>}}`, a.name))}})
	_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &a.name, Key: aws.String("in/file.csv"), Body: strings.NewReader("a,b\n")})
	a.must(err)
	if x := a.attempt(a.name, "ok"); !x.Success {
		t.Errorf("%+v", x)
	}
}
