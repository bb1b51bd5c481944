package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
)

// usage is what something cost, in the units of the price list.
type usage struct {
	proxy.Bill
	functions map[string]invocations
}

// invocations of one function.
type invocations struct {
	times  int
	took   time.Duration
	memory int // MiB
	logged int // bytes
}

// pollers is what Lambda itself asks the queues for: it receives a batch and deletes it.
const pollers = 2

func (u usage) invocations() int { return u.functions["executor"].times + u.functions["agent"].times }

// requests are those to SQS: ours and those of Lambda's pollers.
func (u usage) requests() int { return u.Messages + u.Ordered + pollers*u.invocations() }

// cost is a part of the bill in dollars.
type cost struct {
	what    string
	dollars float64
}

// compute is the time of functions in dollars. It is that of LocalStack here: all else is
// counted, and would be the same on AWS.
func (u usage) compute() float64 {
	seconds := 0.0
	for _, f := range u.functions {
		seconds += f.took.Seconds() * float64(f.memory) / 1024
	}
	return seconds * lambdaGBSecond
}

// costs are the parts of the bill.
func (u usage) costs() []cost {
	var calls, logs float64
	for _, f := range u.functions {
		calls += float64(f.times)
		logs += float64(f.logged)
	}
	queues := float64(u.Ordered+pollers*u.functions["executor"].times)*fifoRequest + float64(u.Messages+pollers*u.functions["agent"].times)*standardRequest
	objects := 0.0
	for c, n := range u.Calls {
		switch {
		case c.Service != "s3" || c.Operation == http.MethodDelete:
		case c.Operation == http.MethodGet || c.Operation == http.MethodHead:
			objects += float64(n) * objectRead
		default:
			objects += float64(n) * objectWrite
		}
	}
	return []cost{{"Lambda", calls * lambdaRequest}, {"Lambda time", u.compute()}, {"SQS", queues}, {"DynamoDB", u.Writes*writeUnit + u.Reads*readUnit},
		{"S3", objects}, {"API", float64(u.functions["api"].times) * apiRequest}, {"logs", logs / (1 << 30) * logGB}}
}

func (u usage) dollars() float64 {
	sum := 0.0
	for _, c := range u.costs() {
		sum += c.dollars
	}
	return sum
}

var report = regexp.MustCompile(`^REPORT RequestId: \S+\tDuration: ([0-9.]+) ms\t.*Memory Size: ([0-9]+) MB`)

// invoked reads in a function's log what ended since a time.
func invoked(ctx context.Context, stage, function string, since time.Time) (invocations, error) {
	var all invocations
	in := map[string]any{"logGroupName": "/aws/lambda/zerodag-" + stage + "-" + function, "startTime": since.UnixMilli(), "limit": 10000}
	for {
		var page struct {
			Events []struct {
				Timestamp int64
				Message   string
			}
			NextToken string
		}
		if err := logs(ctx, in, &page); err != nil {
			return all, fmt.Errorf("read the log of function %s: %w", function, err)
		}
		for _, e := range page.Events {
			if e.Timestamp < since.UnixMilli() {
				continue
			}
			all.logged += len(e.Message) + 26 // as CloudWatch counts
			if m := report.FindStringSubmatch(e.Message); m != nil {
				ms, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					return all, fmt.Errorf("read %q: %w", e.Message, err)
				}
				all.times++
				all.took += time.Duration(ms * float64(time.Millisecond))
				all.memory, _ = strconv.Atoi(m[2]) // digits
			}
		}
		if page.NextToken == "" {
			return all, nil
		}
		in["nextToken"] = page.NextToken
	}
}

// logs asks LocalStack's CloudWatch; a log that nothing was written to is empty.
func logs(ctx context.Context, in map[string]any, into any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, localstack.Endpoint(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "Logs_20140328.FilterLogEvents")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/logs/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case strings.Contains(string(text), "ResourceNotFoundException"):
		return nil
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return json.Unmarshal(text, into)
}
