package proxy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack/proxy"
)

// service answers every call with 200 and records it.
type service struct {
	answer string
	calls  atomic.Int64
	last   atomic.Value
	host   atomic.Value
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.calls.Add(1)
	s.last.Store(string(body))
	s.host.Store(r.Host)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "TransactWriteItems") {
		io.WriteString(w, "{}")
		return
	}
	io.WriteString(w, s.answer)
}

// setup returns a proxy in front of a service, and the configuration of clients, which do not retry.
func setup(t *testing.T, answer string) (*service, *proxy.Proxy, aws.Config) {
	t.Helper()
	s := &service{answer: answer}
	target := httptest.NewServer(s)
	t.Cleanup(target.Close)
	p := proxy.Start(t, target.URL)
	return s, p, aws.Config{Region: "us-east-1", BaseEndpoint: &p.URL, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
}

func put(t *testing.T, c aws.Config) error {
	t.Helper()
	_, err := dynamodb.NewFromConfig(c).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "1"}}})
	return err
}

func send(t *testing.T, c aws.Config, queue, body string) error {
	t.Helper()
	text := func(s string) sqstypes.MessageAttributeValue {
		return sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(s)}
	}
	_, err := sqs.NewFromConfig(c, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true }).SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &queue,
		Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("0"), MessageBody: &body, MessageAttributes: map[string]sqstypes.MessageAttributeValue{"id": text("7/2.1")}}}})
	return err
}

// TestBill checks that calls are distinguished and counted at AWS's charges.
func TestBill(t *testing.T) {
	t.Parallel()
	s, p, c := setup(t, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3}}`)
	if err := put(t, c); err != nil {
		t.Fatal(err)
	}
	if body := s.last.Load().(string); !strings.Contains(body, `"ReturnConsumedCapacity":"TOTAL"`) {
		t.Errorf("the units were not asked for: %s", body)
	}
	db := dynamodb.NewFromConfig(c)
	if _, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "1"}}}); err != nil {
		t.Fatal(err)
	}
	large := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: strings.Repeat("x", 1500)}, "ga": &types.AttributeValueMemberS{Value: "0"}}
	if _, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("t"), Item: large}},
		{Update: &types.Update{TableName: aws.String("t"), Key: large, UpdateExpression: aws.String("SET a = p")}}}}); err != nil {
		t.Fatal(err)
	}
	if err := send(t, c, "http://q/1", strings.Repeat("x", 100<<10)); err != nil {
		t.Fatal(err)
	}
	if err := send(t, c, "http://q/1", "{}"); err != nil {
		t.Fatal(err)
	}
	store := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("x")})
	store.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("b")}) // its response is not XML
	want := proxy.Bill{Messages: 3, Reads: 3, Writes: 3 + 4 + 1 + 2, Calls: map[proxy.Call]int{{Service: "dynamodb", Operation: "PutItem"}: 1, {Service: "dynamodb", Operation: "GetItem"}: 1,
		{Service: "dynamodb", Operation: "TransactWriteItems"}: 1, {Service: "sqs", Operation: "SendMessageBatch"}: 2, {Service: "s3", Operation: "PUT"}: 1, {Service: "s3", Operation: "LIST"}: 1},
		Units: map[proxy.Call]float64{{Service: "dynamodb", Operation: "PutItem"}: 3, {Service: "dynamodb", Operation: "GetItem"}: 3, {Service: "dynamodb", Operation: "TransactWriteItems"}: 7}}
	got := p.Take()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
	if got.Of("s3") != 2 || p.Take().Of("s3") != 0 {
		t.Error("Take does not begin again")
	}
	if host := s.host.Load().(string); "http://"+host != p.URL {
		t.Errorf("the service was called by the name %s, pre-signed links are signed with %s", host, p.URL)
	}
}

// TestFaults checks that each kind of fault looks like AWS's to a client, and whether the call was carried out.
func TestFaults(t *testing.T) {
	t.Parallel()
	code := func(err error) string {
		var e smithy.APIError
		if !errors.As(err, &e) {
			return ""
		}
		return e.ErrorCode()
	}
	for name, x := range map[string]struct {
		faults  proxy.Faults
		do      func(*testing.T, aws.Config) error
		code    string
		reached int64
	}{
		"refused before": {proxy.Faults{Before: 1}, put, "InternalServerError", 0},
		"failed after":   {proxy.Faults{After: 1}, put, "InternalServerError", 1},
		"throttled":      {proxy.Faults{Throttle: 1}, func(t *testing.T, c aws.Config) error { return send(t, c, "http://q/1", "{}") }, "RequestThrottled", 0},
		"doubled":        {proxy.Faults{Duplicate: 1}, func(t *testing.T, c aws.Config) error { return send(t, c, "http://q/1", "{}") }, "", 2},
		"never in FIFO":  {proxy.Faults{Duplicate: 1}, func(t *testing.T, c aws.Config) error { return send(t, c, "http://q/1.fifo", "{}") }, "", 1},
		"other service":  {proxy.Faults{Before: 1, Services: []string{"sqs"}}, put, "", 1},
		"redelivered": {proxy.Faults{Redeliver: 1}, func(t *testing.T, c aws.Config) error {
			_, err := sqs.NewFromConfig(c).ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: aws.String("http://q/1"), ReceiptHandle: aws.String("r"), VisibilityTimeout: 5})
			return err
		}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, c := setup(t, `{}`)
			p.Trouble(1, x.faults)
			if err := x.do(t, c); code(err) != x.code || x.code == "" && err != nil {
				t.Errorf("got %v, want %q", err, x.code)
			}
			if got := s.calls.Load(); got != x.reached {
				t.Errorf("carried out %d times, want %d", got, x.reached)
			}
			if body, _ := s.last.Load().(string); name == "redelivered" && !strings.Contains(body, `"VisibilityTimeout":0`) {
				t.Errorf("the message is not visible again: %s", body)
			}
			p.Trouble(1, proxy.Faults{})
			if err := put(t, c); err != nil {
				t.Errorf("after the trouble: %v", err)
			}
		})
	}
}

// TestSent checks that the proxy knows how many times a task was sent, even by a client that was killed before it got
// its response.
func TestSent(t *testing.T) {
	t.Parallel()
	_, p, c := setup(t, `{}`)
	p.Trouble(1, proxy.Faults{Duplicate: 1})
	if err := send(t, c, "http://q/1", `{"v":1,"runs":[{"task":2,"d":1},{"task":3,"d":1}]}`); err != nil {
		t.Fatal(err)
	}
	want := map[proxy.Order]int{{Attempt: 7, Task: 2}: 2, {Attempt: 7, Task: 3}: 2}
	if diff := cmp.Diff(want, p.Sent()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-gone
	}))
	defer slow.Close()
	q := proxy.Start(t, slow.URL)
	q.Trouble(1, proxy.Faults{})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, strings.NewReader(`{"MessageBody":"{\"runs\":[{\"task\":2}]}","MessageAttributes":{"id":{"StringValue":"7/2.1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a call that was broken off", err)
	}
	close(gone)
	for deadline := time.Now().Add(10 * time.Second); q.Sent()[proxy.Order{Attempt: 7, Task: 2}] != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a call that was carried out for a client that was killed is not known")
		}
	}
}
