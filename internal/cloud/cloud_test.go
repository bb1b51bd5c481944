package cloud

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
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

// TestRequest proves that what API Gateway hands over becomes the request that was sent:
// method, path (which comes decoded), query, headers and a body of any bytes.
func TestRequest(t *testing.T) {
	t.Parallel()
	var call events.APIGatewayV2HTTPRequest
	text := `{"version":"2.0","rawPath":"/api/logs/1/files/+main+100%#%41","rawQueryString":"a=1&b=%20","headers":{"content-type":"application/gzip","authorization":"Bearer t"},
		"requestContext":{"http":{"method":"PUT","path":"/x","sourceIp":"1.2.3.4"}},"body":"` + base64.StdEncoding.EncodeToString([]byte{0, 255, 1}) + `","isBase64Encoded":true}`
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		t.Fatal(err)
	}
	r, err := request(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	got := []string{r.Method, r.URL.EscapedPath(), r.URL.Path, r.URL.Query().Get("b"), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body), r.RemoteAddr}
	want := []string{"PUT", "/api/logs/1/files/+main+100%25%23%2541", "/api/logs/1/files/+main+100%#%41", " ", "application/gzip", "Bearer t", "\x00\xff\x01", "1.2.3.4:0"}
	if diff := cmp.Diff(want, got); diff != "" || r.ContentLength != 3 {
		t.Error(diff, r.ContentLength)
	}
	call.Body = "no base64!"
	if _, err := request(t.Context(), call); err == nil {
		t.Error("a broken body was taken")
	}
}

// FuzzPath proves that a name at the end of a path arrives as it was sent, whatever is in it, when it
// comes as an HTTP API hands it over: decoded, once.
func FuzzPath(f *testing.F) {
	for _, name := range []string{"+main+a", "100%", "%41", "a#b", "a b", "ü", "%2F", "a?b", "..", "a/b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var call events.APIGatewayV2HTTPRequest
		call.RequestContext.HTTP.Method, call.RawPath, call.RawQueryString = http.MethodGet, "/api/projects/1/workflows/"+name, "revision=r"
		r, err := request(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		there, err := url.PathUnescape(r.URL.EscapedPath())
		if err != nil || there != call.RawPath || r.URL.Query().Get("revision") != "r" {
			t.Errorf("%q became %q, %v", name, r.URL, err)
		}
	})
}

// TestAnswer proves that JSON goes as text, everything else as base64, and that what the
// gateway cannot carry is one clear error.
func TestAnswer(t *testing.T) {
	t.Parallel()
	write := func(status int, kind, body string) events.APIGatewayV2HTTPResponse {
		w := newRecorder()
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
		a, err := answer(w)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := write(http.StatusConflict, "application/json", "{}"); a.StatusCode != 409 || a.Body != "{}" || a.IsBase64Encoded {
		t.Errorf("%+v", a)
	}
	if a := write(http.StatusOK, "application/gzip", "\x1f\x8b"); a.Body != "H4s=" || !a.IsBase64Encoded {
		t.Errorf("%+v", a)
	}
	// What counts is the JSON in which Lambda takes an answer.
	for name, c := range map[string]struct {
		kind, body string
		want       int
	}{
		"text":                 {"application/json", strings.Repeat(" ", 5<<20), http.StatusOK},
		"text that is escaped": {"text/plain", strings.Repeat(`"`, 4<<20), http.StatusOK},
		"text that grows more": {"text/plain", strings.Repeat("\x01", 2<<20), http.StatusOK},
		"escaped, too large":   {"text/plain", strings.Repeat(`"`, 5<<20), http.StatusRequestEntityTooLarge},
		"binary":               {"application/gzip", strings.Repeat("x", 4<<20), http.StatusOK},
		"binary, too large":    {"application/gzip", strings.Repeat("x", 5<<20), http.StatusRequestEntityTooLarge},
	} {
		a := write(http.StatusOK, c.kind, c.body)
		text, err := json.Marshal(a)
		if err != nil || a.StatusCode != c.want || len(text) > 6<<20 {
			t.Errorf("%s: %d, %d bytes, %v", name, a.StatusCode, len(text), err)
		}
		sent := []byte(a.Body)
		if a.IsBase64Encoded {
			sent, err = base64.StdEncoding.DecodeString(a.Body)
		}
		if a.StatusCode == http.StatusOK && (err != nil || string(sent) != c.body) {
			t.Errorf("%s: the answer is another one, %v", name, err)
		}
	}
	if a := write(http.StatusOK, "application/json", strings.Repeat(" ", 6<<20)); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", a.StatusCode)
	}
}

// TestConsume proves that what cannot be handled is reported, with everything behind it in
// its group, and that other groups of the same call are handled.
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
					return // not done
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

// TestMetricLine proves that a call that did something writes one line that CloudWatch
// reads, and one that did nothing none.
func TestMetricLine(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	before := counts{node.Stats{TasksRun: 5, SchedulesFired: 1, ScheduleDelay: time.Hour}, 1}
	if line := metricLine("main", "tick", before, before, at, at); line != nil {
		t.Errorf("nothing was done: %s", line)
	}
	after := counts{node.Stats{TasksRun: 7, SchedulesFired: 2, ScheduleDelay: 1500 * time.Millisecond}, 4}
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
