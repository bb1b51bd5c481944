package otlp_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"zerodag/internal/trace"
	"zerodag/internal/trace/otlp"
)

// collector receives traces with the OpenTelemetry collector's decoder, and first responds with the given statuses.
type collector struct {
	t        *testing.T
	mu       sync.Mutex
	statuses []int
	answer   string
	requests int
	header   http.Header
	spans    []ptrace.Span
	resource map[string]any
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.header = r.Header
	if len(c.statuses) > 0 {
		w.WriteHeader(c.statuses[0])
		c.statuses = c.statuses[1:]
		return
	}
	zipped, err := gzip.NewReader(r.Body)
	if err != nil {
		c.t.Error(err)
		return
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		c.t.Error(err)
	}
	decoded, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		c.t.Errorf("%v: %s", err, text)
		return
	}
	for _, of := range decoded.ResourceSpans().All() {
		c.resource = of.Resource().Attributes().AsRaw()
		for _, in := range of.ScopeSpans().All() {
			for _, s := range in.Spans().All() {
				c.spans = append(c.spans, s)
			}
		}
	}
	_, _ = io.WriteString(w, c.answer)
}

func start(t *testing.T, statuses ...int) (*collector, string) {
	c := &collector{t: t, statuses: statuses, answer: "{}"}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL + "/v1/traces"
}

func at(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 123).UTC() }

func spans() []trace.Span {
	id := [16]byte{1, 2, 3}
	return []trace.Span{
		{Trace: id, ID: [8]byte{9}, Name: "sales/nightly", Start: at(0), End: at(10), Attributes: []trace.Attribute{{Key: "zerodag.attempt.id", Value: int64(7)}, {Key: "zerodag.project", Value: "sales"}, {Key: "x", Value: true}}},
		{Trace: id, ID: [8]byte{8}, Parent: [8]byte{9}, Name: "+nightly+load", Start: at(1), End: at(9), Failed: true, Message: "no such table"},
	}
}

func quick(o otlp.Options) *otlp.Exporter {
	o.Pause = func(context.Context, time.Duration) error { return nil }
	return otlp.New(o)
}

// TestExport proves that a collector's own decoder reads every part of the request.
func TestExport(t *testing.T) {
	t.Parallel()
	c, url := start(t)
	o := otlp.Options{URL: url, Headers: map[string]string{"X-Key": "k"}, Resource: map[string]string{"cloud.region": "eu-central-1"}}
	if err := quick(o).Export(t.Context(), spans()); err != nil {
		t.Fatal(err)
	}
	if c.resource["service.name"] != "zerodag" || c.resource["cloud.region"] != "eu-central-1" || c.header.Get("X-Key") != "k" || c.header.Get("Content-Type") != "application/json" {
		t.Errorf("resource %v, headers %v", c.resource, c.header)
	}
	if len(c.spans) != 2 {
		t.Fatalf("%d spans", len(c.spans))
	}
	root, task := c.spans[0], c.spans[1]
	if root.Name() != "sales/nightly" || !root.ParentSpanID().IsEmpty() || root.TraceID().String() != "01020300000000000000000000000000" || root.Kind() != ptrace.SpanKindInternal {
		t.Errorf("root %v %v %v %v", root.Name(), root.ParentSpanID(), root.TraceID(), root.Kind())
	}
	if got := fmt.Sprint(root.Attributes().AsRaw()); got != "map[x:true zerodag.attempt.id:7 zerodag.project:sales]" {
		t.Errorf("attributes %s", got)
	}
	if task.ParentSpanID() != root.SpanID() || task.TraceID() != root.TraceID() || task.Status().Code() != ptrace.StatusCodeError || task.Status().Message() != "no such table" || root.Status().Code() != ptrace.StatusCodeUnset {
		t.Errorf("task %v, status %v %q", task.ParentSpanID(), task.Status().Code(), task.Status().Message())
	}
	if !task.StartTimestamp().AsTime().Equal(at(1)) || !task.EndTimestamp().AsTime().Equal(at(9)) {
		t.Errorf("from %v to %v", task.StartTimestamp().AsTime(), task.EndTimestamp().AsTime())
	}
}

// TestRetries proves that a request is retried only after responses that allow it, and that errors do not contain the
// address, which may contain a key.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		statuses []int
		answer   string
		requests int
		wrong    string
	}{
		"throttled once":  {[]int{429}, "{}", 2, ""},
		"away twice":      {[]int{503, 502}, "{}", 3, ""},
		"away for longer": {[]int{503, 503, 503, 503}, "{}", 3, "503"},
		"refused":         {[]int{400}, "{}", 1, "400"},
		"no such path":    {[]int{404}, "{}", 1, "404"},
		"rejects some":    {nil, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`, 1, "rejected 1 of them: too old"},
		"rejects a few":   {nil, `{"partialSuccess":{"rejectedSpans":2}}`, 1, "rejected 2 of them"},
		"rejects none":    {nil, `{"partialSuccess":{}}`, 1, ""},
		"speaks protobuf": {nil, "\x0a\x00", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, url := start(t, x.statuses...)
			c.answer = x.answer
			err := quick(otlp.Options{URL: url + "?token=secret"}).Export(t.Context(), spans())
			if c.requests != x.requests || (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
				t.Errorf("%d requests, %v", c.requests, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
	if err := quick(otlp.Options{URL: "http://127.0.0.1:1/v1/traces?token=secret"}).Export(t.Context(), spans()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestRequestsAreBounded proves that no request has more spans, or spans further apart in time, than a receiver
// accepts, and that long strings are cut between characters.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	c, url := start(t)
	var list []trace.Span
	for i := range 4500 {
		list = append(list, trace.Span{Trace: [16]byte{1}, ID: [8]byte{byte(i), byte(i >> 8), 1}, Name: "x", Start: at(i), End: at(i + 1)})
	}
	list = append(list, trace.Span{Trace: [16]byte{1}, ID: [8]byte{7}, Name: "days later", Start: at(3 * 86400), End: at(3*86400 + 1), Failed: true, Message: strings.Repeat("ä", 100_000)})
	if err := quick(otlp.Options{URL: url}).Export(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if c.requests != 4 || len(c.spans) != len(list) {
		t.Errorf("%d requests with %d spans", c.requests, len(c.spans))
	}
	message := c.spans[len(c.spans)-1].Status().Message()
	if len(message) > 5000 || strings.Trim(message, "ä…") != "" {
		t.Errorf("%d bytes of text: %.40q", len(message), strings.Trim(message, "ä…"))
	}
}

// TestSigned proves that each request is signed with the body that is sent.
func TestSigned(t *testing.T) {
	t.Parallel()
	c, url := start(t, 503)
	signed := 0
	o := otlp.Options{URL: url, Sign: func(r *http.Request, text []byte) error {
		signed++
		if int64(len(text)) != r.ContentLength {
			t.Errorf("%d bytes are signed, and %d sent", len(text), r.ContentLength)
		}
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
		return nil
	}}
	if err := quick(o).Export(t.Context(), spans()); err != nil || signed != 2 || c.header.Get("Authorization") == "" {
		t.Errorf("%d signatures, %v", signed, err)
	}
}
