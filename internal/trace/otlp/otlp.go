// Package otlp sends spans to an OpenTelemetry collector, or to any service that speaks OTLP over HTTP, in OTLP's JSON
// encoding (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpclient"
	"zerodag/internal/retry"
	"zerodag/internal/trace"
	"zerodag/operators"
)

// Limits on one request. AWS X-Ray accepts 10,000 spans, 5 MB, and spans within 24 hours.
const (
	mostSpans = 2000
	mostTime  = 23 * time.Hour
	// longest limits how many bytes of a string are sent.
	longest = 4 << 10
)

// One request's time limit, and the pauses before retries.
const requestTime = 10 * time.Second

func pauses() []time.Duration { return []time.Duration{time.Second, 4 * time.Second} }

// Options holds the settings of an Exporter.
type Options struct {
	URL     string            // the URL for the signal: https://collector:4318/v1/traces
	Headers map[string]string // added to each request
	Service string            // the attribute service.name; "" is "zerodag"
	// Resource holds further attributes of the sender, such as deployment.environment.name.
	Resource map[string]string
	// Sign, unless nil, signs a request with the body text.
	Sign func(r *http.Request, text []byte) error
	// Pause, unless nil, replaces the wait between retries.
	Pause func(context.Context, time.Duration) error
}

// Exporter is a host.Tracer. It is safe for concurrent use.
type Exporter struct {
	o      Options
	client *http.Client
}

// New returns an Exporter.
func New(o Options) *Exporter {
	if o.Service == "" {
		o.Service = "zerodag"
	}
	if o.Pause == nil {
		o.Pause = retry.Sleep
	}
	var clients httpclient.Clients
	return &Exporter{o: o, client: clients.Client(operators.HTTPOptions{Timeout: requestTime})}
}

// Trace implements host.Tracer.
func (x *Exporter) Trace(a host.Attempt, final *engine.State) func(context.Context) error {
	spans := trace.Of(a, final)
	return func(ctx context.Context) error { return x.Export(ctx, spans) }
}

// Export sends spans. A large attempt takes several requests. Spans that the receiver rejects cause an error.
func (x *Exporter) Export(ctx context.Context, spans []trace.Span) error {
	ordered := slices.SortedStableFunc(slices.Values(spans), func(a, b trace.Span) int { return a.Start.Compare(b.Start) })
	for len(ordered) > 0 {
		n := 1
		for n < len(ordered) && n < mostSpans && ordered[n].End.Sub(ordered[0].Start) < mostTime {
			n++
		}
		if err := x.send(ctx, ordered[:n]); err != nil {
			return err
		}
		ordered = ordered[n:]
	}
	return nil
}

// retryable reports whether OTLP allows a retry after a response with the given status.
func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

func (x *Exporter) send(ctx context.Context, spans []trace.Span) error {
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if err := errors.Join(json.NewEncoder(w).Encode(x.request(spans)), w.Close()); err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	for tries := 0; ; tries++ {
		again, err := x.try(ctx, text.Bytes())
		if err == nil || !again || tries == len(pauses()) {
			return err
		}
		if cut := x.o.Pause(ctx, pauses()[tries]); cut != nil {
			return err
		}
	}
}

// try sends a body once, and reports whether it may be sent again.
func (x *Exporter) try(ctx context.Context, text []byte) (again bool, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.o.URL, bytes.NewReader(text))
	if err != nil {
		return false, fmt.Errorf("send spans: %w", withoutAddress(err))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	for name, value := range x.o.Headers {
		r.Header.Set(name, value)
	}
	if x.o.Sign != nil {
		if err := x.o.Sign(r, text); err != nil {
			return true, fmt.Errorf("sign spans: %w", err)
		}
	}
	answer, err := x.client.Do(r)
	if err != nil {
		return true, fmt.Errorf("send spans to %s: %w", r.URL.Host, withoutAddress(err))
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if answer.StatusCode/100 != 2 {
		return retryable(answer.StatusCode), fmt.Errorf("send spans to %s: status %s: %s", r.URL.Host, answer.Status, strings.TrimSpace(string(body[:min(len(body), 300)])))
	}
	var part struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // a number or, as in protobuf's JSON form, a string
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(body, &part) == nil { // a response in another encoding contains no details
		if n, _ := strconv.Atoi(strings.Trim(string(part.PartialSuccess.RejectedSpans), `"`)); n > 0 {
			return false, fmt.Errorf("send spans to %s: it rejected %d of them: %s", r.URL.Host, n, part.PartialSuccess.ErrorMessage)
		}
	}
	return false, nil
}

// withoutAddress removes the URL from an error because it may contain a key.
func withoutAddress(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// The parts of opentelemetry-proto's trace/v1 that are used here.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID      string     `json:"traceId"` // OTLP's JSON encodes IDs in hexadecimal, unlike other bytes
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes,omitempty"`
		Status       *status    `json:"status,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

// Values of enumerations.
const (
	internalKind = 1
	errorCode    = 2
)

func (x *Exporter) request(spans []trace.Span) request {
	of := []keyValue{text("service.name", x.o.Service)}
	for _, name := range slices.Sorted(maps.Keys(x.o.Resource)) {
		of = append(of, text(name, x.o.Resource[name]))
	}
	list := make([]span, len(spans))
	for i, s := range spans {
		list[i] = encode(s)
	}
	return request{[]resourceSpans{{resource{of}, []scopeSpans{{scope{"zerodag"}, list}}}}}
}

func encode(s trace.Span) span {
	out := span{TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: internalKind,
		Start: strconv.FormatInt(s.Start.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10)}
	if s.Parent != ([8]byte{}) {
		out.ParentSpanID = hex.EncodeToString(s.Parent[:])
	}
	for _, a := range s.Attributes {
		kv := keyValue{Key: a.Key}
		switch v := a.Value.(type) {
		case int64:
			n := strconv.FormatInt(v, 10)
			kv.Value.Int = &n
		case bool:
			kv.Value.Bool = &v
		default:
			kv = text(a.Key, fmt.Sprint(v))
		}
		out.Attributes = append(out.Attributes, kv)
	}
	if s.Failed {
		out.Status = &status{Message: cut(s.Message), Code: errorCode}
	}
	return out
}

func text(key, v string) keyValue {
	v = cut(v)
	return keyValue{key, value{String: &v}}
}

// cut shortens a string at a character boundary.
func cut(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
