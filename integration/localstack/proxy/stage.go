package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"zerodag/integration/localstack"
)

// Functions are those of a deployment that call AWS.
func Functions() []string { return []string{"api", "tick", "executor", "agent"} }

// endpoint is what the SDK reads.
const endpoint = "AWS_ENDPOINT_URL"

// Attach makes the functions of a stage call through the proxy until detach. Their processes
// begin anew both times, so nothing should be under way.
func (p *Proxy) Attach(ctx context.Context, stage string) (detach func(context.Context) error, err error) {
	if err := direct(ctx, stage, p.URL); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return direct(ctx, stage, "") }, nil
}

// direct says where the functions call; "" is LocalStack itself.
func direct(ctx context.Context, stage, url string) error {
	for _, f := range Functions() {
		variables, err := Environment(ctx, stage, f)
		if err != nil {
			return err
		}
		delete(variables, endpoint)
		if url != "" {
			variables[endpoint] = url
		}
		in := map[string]any{"Environment": map[string]any{"Variables": variables}}
		if err := configure(ctx, stage, f, in); err != nil {
			return err
		}
	}
	return nil
}

// configure changes a function and waits until it is so.
func configure(ctx context.Context, stage, function string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := lambda(ctx, http.MethodPut, stage, function, body, nil); err != nil {
		return err
	}
	for {
		var c struct{ State, LastUpdateStatus string }
		if err := lambda(ctx, http.MethodGet, stage, function, nil, &c); err != nil {
			return err
		}
		if c.LastUpdateStatus == "Successful" && c.State == "Active" {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for function %s: %w", function, ctx.Err())
		}
	}
}

// Environment is what a function of a stage is told.
func Environment(ctx context.Context, stage, function string) (map[string]string, error) {
	var c struct {
		Environment struct{ Variables map[string]string }
	}
	err := lambda(ctx, http.MethodGet, stage, function, nil, &c)
	return c.Environment.Variables, err
}

// Invoke calls a function, as EventBridge does, and waits for its end.
func Invoke(ctx context.Context, stage, function string, event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return call(ctx, http.MethodPost, stage, function, "invocations", body, nil)
}

// lambda asks LocalStack about the configuration of a function.
func lambda(ctx context.Context, method, stage, function string, body []byte, into any) error {
	return call(ctx, method, stage, function, "configuration", body, into)
}

func call(ctx context.Context, method, stage, function, what string, body []byte, into any) error {
	name := "zerodag-" + stage + "-" + function
	url := localstack.Endpoint() + "/2015-03-31/functions/" + name + "/" + what
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask for function %s: %w", name, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("ask for function %s: %w (deploy it with integration/localstack/deploy.sh %s)", name, err, stage)
	}
	return nil
}
