package cloud

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqs"
)

// TestConsume proves that a message that cannot be handled is reported together with all later messages of its group,
// and that other groups of the same call are handled.
func TestConsume(t *testing.T) {
	t.Parallel()
	q := sqs.New(aws.Config{Region: "us-east-1"}, sqs.Options{Name: "events", URL: "http://127.0.0.1:1/q", FIFO: true})
	e := &Engine{Events: q, Logger: slog.New(slog.DiscardHandler)}
	record := func(id, group string) events.SQSMessage {
		text := func(s string) events.SQSMessageAttribute {
			return events.SQSMessageAttribute{StringValue: &s, DataType: "String"}
		}
		return events.SQSMessage{MessageId: id, ReceiptHandle: "r" + id, Body: base64.StdEncoding.EncodeToString([]byte("{}")),
			Attributes: map[string]string{"MessageGroupId": group, "ApproximateReceiveCount": "2"}, MessageAttributes: map[string]events.SQSMessageAttribute{"id": text(group + "/" + id), "group": text(group)}}
	}
	var handled []string
	unreadable := record("e", "3")
	unreadable.MessageAttributes = nil
	answer := e.consume(t.Context(), q, 0, events.SQSEvent{Records: []events.SQSMessage{record("a", "1"), record("b", "2"), record("c", "1"), record("d", "2"), unreadable, record("f", "3")}},
		func(ctx context.Context, q host.Queue, list []host.Delivery) {
			for _, d := range list {
				handled = append(handled, d.ID)
				if d.Count != 2 {
					t.Errorf("%s: count %d", d.ID, d.Count)
				}
				if strings.HasSuffix(d.ID, "a") {
					return // not handled
				}
				if err := q.Delete(ctx, d); err != nil {
					t.Error(err)
				}
			}
		})
	want := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "a"}, {ItemIdentifier: "c"}, {ItemIdentifier: "e"}, {ItemIdentifier: "f"}}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1/a", "2/b", "2/d"}, handled); diff != "" {
		t.Error(diff)
	}
}

// TestMetricLine proves that a call that did some work writes one line that CloudWatch can read, and an idle call
// writes none.
func TestMetricLine(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	before := counts{node.Stats{TasksRun: 5, SchedulesFired: 1, ScheduleDelay: time.Hour}, 1, 2}
	if line := metricLine("main", "tick", before, before, at, at); line != nil {
		t.Errorf("nothing was done: %s", line)
	}
	after := counts{node.Stats{TasksRun: 7, SchedulesFired: 2, ScheduleDelay: 1500 * time.Millisecond}, 4, 2}
	var got, want any
	if err := json.Unmarshal(metricLine("main", "agent", before, after, at, at.Add(time.Second)), &got); err != nil {
		t.Fatal(err)
	}
	json.Unmarshal([]byte(`{"stage":"main","function":"agent","milliseconds":1000,"TasksRun":2,"NoEvaluator":3,"SchedulesFired":1,"ScheduleDelay":1500,
		"_aws":{"Timestamp":1700000001000,"CloudWatchMetrics":[{"Namespace":"zerodag","Dimensions":[["stage"]],"Metrics":[
		{"Name":"TasksRun","Unit":"Count"},{"Name":"NoEvaluator","Unit":"Count"},{"Name":"SchedulesFired","Unit":"Count"},{"Name":"ScheduleDelay","Unit":"Milliseconds"}]}]}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReleaseLine proves that problems that stop a gradual deploy are counted for the version that caused them:
// failures, evaluators that did not start, and 5xx responses. Nothing is counted if deploys are not gradual or nothing
// failed.
func TestReleaseLine(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	before := counts{node.Stats{TasksRun: 5, Errors: 1}, 1, 7}
	after := counts{node.Stats{TasksRun: 9, Errors: 3}, 2, 11}
	for _, line := range [][]byte{releaseLine("main", "agent", "", before, after, at), releaseLine("main", "agent", "7", before, before, at)} {
		if line != nil {
			t.Errorf("nothing of a version is counted: %s", line)
		}
	}
	var got, want any
	if err := json.Unmarshal(releaseLine("main", "agent", "7", before, after, at), &got); err != nil {
		t.Fatal(err)
	}
	json.Unmarshal([]byte(`{"stage":"main","function":"agent","version":"7","ReleaseErrors":7,"_aws":{"Timestamp":1700000000000,"CloudWatchMetrics":[
		{"Namespace":"zerodag","Dimensions":[["stage","function","version"]],"Metrics":[{"Name":"ReleaseErrors","Unit":"Count"}]}]}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnswersCounted proves that only responses that report a server error are counted.
func TestAnswersCounted(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	for status, want := range map[int]int64{http.StatusOK: 0, http.StatusNotFound: 0, http.StatusInternalServerError: 1, http.StatusServiceUnavailable: 1} {
		before := e.refused.Load()
		e.answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }), call{}, httptest.NewRequest(http.MethodGet, "/", nil))
		if got := e.refused.Load() - before; got != want {
			t.Errorf("%d is counted %d times, want %d", status, got, want)
		}
	}
}
