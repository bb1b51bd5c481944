package cloud

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	own "zerodag/events"
	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/sqs"
)

// called reads an event that AWS passes to a function.
func called(t *testing.T, function string, into any) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../../functions/" + function + "/event.json")
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestQueueEvents proves that executor and agent understand Lambda's events for their queues: ids, groups and bodies.
func TestQueueEvents(t *testing.T) {
	t.Parallel()
	for function, want := range map[string][]string{
		"executor": {"890656362642471/start", "890656362642471/r3.1"},
		"agent":    {"890656362642471/3.1+1.af63bd4c8601b7df"},
	} {
		var call events.SQSEvent
		called(t, function, &call)
		q := sqs.New(aws.Config{Region: "us-east-1"}, sqs.Options{Name: function, URL: "http://127.0.0.1:1/q"})
		e := &Engine{Logger: slog.New(slog.DiscardHandler)}
		var got []string
		answer := e.consume(t.Context(), q, time.Minute, call, func(ctx context.Context, q host.Queue, list []host.Delivery) {
			for _, d := range list {
				got = append(got, d.ID)
				if d.Count != 1 {
					t.Errorf("%s: received %d times", d.ID, d.Count)
				}
				var err error
				if function == "agent" {
					_, err = own.DecodeTask(d.Body)
				} else {
					_, err = own.Decode(d.Body)
				}
				if err != nil {
					t.Error(err)
				}
				q.Delete(ctx, d)
			}
		})
		if diff := cmp.Diff(want, got); diff != "" || len(answer.BatchItemFailures) > 0 {
			t.Errorf("%s: %s %v", function, diff, answer)
		}
	}
}

// TestVisibilities proves that the functions get and use the visibility timeout of each queue, and that Lambda's data
// about an earlier receive reaches the delivery.
func TestVisibilities(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../infra/deployment/testdata/template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				VisibilityTimeout int
				Environment       struct{ Variables map[string]any }
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	queues, told := map[string]time.Duration{}, 0
	for name, r := range template.Resources {
		for _, q := range []string{"Tasks", "Events"} {
			if r.Type == "AWS::SQS::Queue" && strings.HasPrefix(name, q) && !strings.HasPrefix(name, q+"Dead") {
				queues[q] = time.Duration(r.Properties.VisibilityTimeout) * time.Second
			}
		}
	}
	for name, r := range template.Resources {
		variables := r.Properties.Environment.Variables
		if variables["ZERODAG_TABLE"] == nil {
			continue
		}
		told++
		if variables["ZERODAG_TASK_VISIBILITY"] != queues["Tasks"].String() || variables["ZERODAG_EVENT_VISIBILITY"] != queues["Events"].String() {
			t.Errorf("function %s is told %v and %v, the queues have %v", name, variables["ZERODAG_TASK_VISIBILITY"], variables["ZERODAG_EVENT_VISIBILITY"], queues)
		}
	}
	if told < 5 || len(queues) != 2 {
		t.Errorf("%d functions and %d queues were looked at", told, len(queues))
	}
	e, err := wire(env.Config{Events: "http://127.0.0.1:1/e", Tasks: "http://127.0.0.1:1/t", TaskVisibility: 20 * time.Second}, aws.Config{Region: "us-east-1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var call events.SQSEvent
	called(t, "agent", &call)
	m := call.Records[0]
	m.Attributes["ApproximateReceiveCount"] = "2"
	for since, want := range map[time.Duration]bool{21 * time.Second: true, 5 * time.Second: false} {
		m.Attributes["ApproximateFirstReceiveTimestamp"] = strconv.FormatInt(time.Now().Add(-since).UnixMilli(), 10)
		if d, err := adopt(e.Tasks, m, time.Minute); err != nil || d.Unbegun != want {
			t.Errorf("received first %v ago: %v, %v", since, d.Unbegun, err)
		}
	}
}

// TestStartOf checks which events the tick function treats as ticks and which as starts.
func TestStartOf(t *testing.T) {
	t.Parallel()
	if d, _, err := startOf(called(t, "tick", nil)); d != nil || err != nil {
		t.Errorf("a tick starts %v, %v", d, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for payload, want := range map[string]*own.StartDetail{
		`{"id":"e1","source":"zerodag.start","time":"2026-01-02T03:04:05Z","detail":{"project":"p","workflow":"w"}}`: {ID: "e1", Time: at, Project: "p", Workflow: "w"},
		`{"id":"e1","source":"zerodag.start","detail":{"id":"own","project":"p","session_time":"2026-01-01"}}`:       {ID: "own", Project: "p", SessionTime: "2026-01-01"},
		`{"id":"s1","time":"2026-01-02T03:04:05Z","project":"p","workflow":"w","params":{"a":1}}`:                    {ID: "s1", Time: at, Project: "p", Workflow: "w", Params: json.RawMessage(`{"a":1}`)},
		`{"id":"e1","source":"somebody else"}`: nil,
	} {
		got, _, err := startOf(json.RawMessage(payload))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", payload, err, diff)
		}
	}
	for _, payload := range []string{`{"source":"zerodag.start","detail":"text"}`, `[]`, `{`} {
		if d, _, err := startOf(json.RawMessage(payload)); err == nil {
			t.Errorf("%s starts %v", payload, d)
		}
	}
}

// TestAPIEvent proves that an API Gateway event becomes the original request.
func TestAPIEvent(t *testing.T) {
	t.Parallel()
	c, err := readCall(t.Context(), called(t, "api", nil))
	if r := c.request; err != nil || r.Method != "GET" || r.URL.String() != "/api/projects?count=2" || r.Header.Get("Authorization") != "Bearer zdt_EXAMPLE" {
		t.Errorf("%+v %v", r, err)
	}
}
