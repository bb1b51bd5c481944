package proxy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack/iam"
)

// request returns a request of a function to a service, in the SDK's form.
func request(t *testing.T, method, url, target, service, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ASIA/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Security-Token", "lent")
	return r
}

// TestAccesses checks that each call is judged by the actions and resources that AWS checks for it:
// the parts of a transaction, the messages of a batch, the source of a copy, the roles of a definition.
func TestAccesses(t *testing.T) {
	t.Parallel()
	const table, account = "arn:aws:dynamodb:us-east-1:000000000000:table/", "arn:aws:sqs:us-east-1:000000000000:"
	for name, c := range map[string]struct {
		method, url, target, service, body string
		want                               []iam.Access
	}{
		"row":   {"POST", "/", "DynamoDB_20120810.PutItem", "dynamodb", `{"TableName":"t"}`, []iam.Access{{Action: "dynamodb:PutItem", Resource: table + "t"}}},
		"index": {"POST", "/", "DynamoDB_20120810.Query", "dynamodb", `{"TableName":"t","IndexName":"i"}`, []iam.Access{{Action: "dynamodb:Query", Resource: table + "t/index/i"}}},
		"transaction": {"POST", "/", "DynamoDB_20120810.TransactWriteItems", "dynamodb", `{"TransactItems":[{"Put":{"TableName":"t"}},{"ConditionCheck":{"TableName":"t"}}]}`,
			[]iam.Access{{Action: "dynamodb:PutItem", Resource: table + "t"}, {Action: "dynamodb:ConditionCheckItem", Resource: table + "t"}}},
		"batch":    {"POST", "/", "DynamoDB_20120810.BatchGetItem", "dynamodb", `{"RequestItems":{"t":{}}}`, []iam.Access{{Action: "dynamodb:BatchGetItem", Resource: table + "t"}}},
		"messages": {"POST", "/", "AmazonSQS.SendMessageBatch", "sqs", `{"QueueUrl":"http://h/000000000000/q.fifo"}`, []iam.Access{{Action: "sqs:SendMessage", Resource: account + "q.fifo"}}},
		"object":   {"PUT", "/b/state/1/x", "", "s3", "", []iam.Access{{Action: "s3:PutObject", Resource: "arn:aws:s3:::b/state/1/x"}}},
		"list":     {"GET", "/b?list-type=2&prefix=log%2F1%2F", "", "s3", "", []iam.Access{{Action: "s3:ListBucket", Resource: "arn:aws:s3:::b", Context: map[string]string{"s3:prefix": "log/1/"}}}},
		"abort":    {"DELETE", "/b/k?uploadId=1", "", "s3", "", []iam.Access{{Action: "s3:AbortMultipartUpload", Resource: "arn:aws:s3:::b/k"}}},
		"secrets":  {"POST", "/", "AmazonSSM.GetParametersByPath", "ssm", `{"Path":"/zerodag/main/0/"}`, []iam.Access{{Action: "ssm:GetParametersByPath", Resource: "arn:aws:ssm:us-east-1:000000000000:parameter/zerodag/main/0/"}}},
		"bus":      {"POST", "/", "AWSEvents.PutEvents", "events", `{"Entries":[{"EventBusName":"b"},{"EventBusName":"b"}]}`, []iam.Access{{Action: "events:PutEvents", Resource: "arn:aws:events:us-east-1:000000000000:event-bus/b"}}},
		"notice":   {"POST", "/", "", "sns", "Action=Publish&TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A0%3At", []iam.Access{{Action: "sns:Publish", Resource: "arn:aws:sns:us-east-1:0:t"}}},
		"function": {"POST", "/2015-03-31/functions/f/invocations", "", "lambda", `{"QueueUrl":1}`, []iam.Access{{Action: "lambda:InvokeFunction", Resource: "arn:aws:lambda:us-east-1:000000000000:function:f"}}},
		"definition": {"POST", "/", "AmazonEC2ContainerServiceV20141113.RegisterTaskDefinition", "ecs", `{"family":"f","executionRoleArn":"arn:aws:iam::0:role/x"}`,
			[]iam.Access{{Action: "ecs:RegisterTaskDefinition", Resource: "arn:aws:ecs:us-east-1:000000000000:task-definition/f:*"},
				{Action: "iam:PassRole", Resource: "arn:aws:iam::0:role/x", Context: map[string]string{"iam:PassedToService": "ecs-tasks.amazonaws.com"}}}},
	} {
		r := request(t, c.method, "http://h"+c.url, c.target, c.service, c.body)
		got, err := accesses(identify(r, []byte(c.body)), r, []byte(c.body))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	r := request(t, "POST", "http://h/", "Unknown_1.Do", "unknown", "{}")
	if _, err := accesses(identify(r, nil), r, nil); err == nil {
		t.Error("a call that nobody has described is let through")
	}
}

// TestGuard checks that calls that a role does not allow are refused as on AWS and recorded, that allowed calls pass,
// and that calls with a task's own keys are not judged.
func TestGuard(t *testing.T) {
	t.Parallel()
	judge, err := iam.Open()
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "localstack") {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: ", err)
	}
	t.Cleanup(func() {
		if err := judge.Close(); err != nil {
			t.Error(err)
		}
	})
	const policy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::b/state/*"]}]}`
	if err := judge.Role("tick", []json.RawMessage{json.RawMessage(policy)}); err != nil {
		t.Fatal(err)
	}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") }))
	t.Cleanup(target.Close)
	p := Start(t, target.URL)
	p.guard = &guard{judge: judge, asked: map[string]map[string]int{}}
	url, err := p.listen("tick")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *http.Request) string {
		t.Helper()
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Body.Close()
		text, err := io.ReadAll(out.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := ask(request(t, "GET", url+"/b/state/1", "", "s3", "")); got != "done" {
		t.Errorf("what the role allows: %s", got)
	}
	own := request(t, "PUT", url+"/b/state/1", "", "s3", "x")
	own.Header.Del("X-Amz-Security-Token")
	if got := ask(own); got != "done" {
		t.Errorf("keys of a task's own: %s", got)
	}
	if len(p.Refused()) != 0 {
		t.Errorf("refused: %v", p.Refused())
	}
	if got := ask(request(t, "PUT", url+"/b/state/1", "", "s3", "x")); !strings.Contains(got, "<Code>AccessDenied</Code>") {
		t.Errorf("what the role does not allow: %s", got)
	}
	if got := ask(request(t, "POST", url+"/", "DynamoDB_20120810.GetItem", "dynamodb", `{"TableName":"t"}`)); !strings.Contains(got, "AccessDeniedException") {
		t.Errorf("what no statement names: %s", got)
	}
	if refused := strings.Join(p.Refused(), "\n"); len(p.Refused()) != 2 || !strings.Contains(refused, "tick may not: s3:PutObject on arn:aws:s3:::b/state/1") {
		t.Errorf("refused: %s", refused)
	}
}

// TestQuota checks that only calls beyond a service's quota per second are refused.
func TestQuota(t *testing.T) {
	t.Parallel()
	var none *quota
	q, now := &quota{most: 40}, time.Unix(100, 0)
	refused := 0
	for range 100 {
		if q.exceeded(now) {
			refused++
		}
	}
	if refused != 60 || q.exceeded(now.Add(time.Second)) || none.exceeded(now) {
		t.Errorf("%d of 100 calls were refused, want 60", refused)
	}
}
