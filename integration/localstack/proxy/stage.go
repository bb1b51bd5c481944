package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zerodag/integration/localstack"
)

// Functions lists the functions of a stage by their names in functions/.
func Functions(ctx context.Context, stage string) ([]string, error) {
	var names []string
	for marker := ""; ; {
		var page struct {
			Functions  []struct{ FunctionName string }
			NextMarker string
		}
		if err := ask(ctx, http.MethodGet, "functions/?Marker="+url.QueryEscape(marker), nil, &page); err != nil {
			return nil, fmt.Errorf("list functions: %w", err)
		}
		for _, f := range page.Functions {
			if name, ok := strings.CutPrefix(f.FunctionName, "zerodag-"+stage+"-"); ok && !strings.Contains(name, "-") {
				names = append(names, name)
			}
		}
		if marker = page.NextMarker; marker == "" {
			break
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("stage %s does not exist: deploy it with integration/localstack/deploy.sh %s", stage, stage)
	}
	return names, nil
}

// endpoint is the variable that the SDK reads.
const endpoint = "AWS_ENDPOINT_URL"

// Attach makes the functions of a stage call through the proxy until detach, with variables of their environment
// replaced. Their processes restart both times, so no work should be in progress.
func (p *Proxy) Attach(ctx context.Context, stage string, replaced map[string]string) (detach func(context.Context) error, err error) {
	names, err := Functions(ctx, stage)
	if err != nil {
		return nil, err
	}
	before := map[string]map[string]string{}
	for _, f := range names {
		if before[f], err = Environment(ctx, stage, f); err != nil {
			return nil, err
		}
		if len(before[f]) == 0 { // the command function, which makes no calls
			delete(before, f)
			continue
		}
		delete(before[f], endpoint) // left by a run that was cut off
		now := maps.Clone(before[f])
		maps.Copy(now, replaced)
		if now[endpoint], err = p.listen(f); err != nil {
			return nil, err
		}
		if err := tell(ctx, stage, f, now); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for f, variables := range before {
			if err := tell(ctx, stage, f, variables); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// tell sets the environment of a function and waits until the change has taken effect.
func tell(ctx context.Context, stage, function string, variables map[string]string) error {
	in := map[string]any{"Environment": map[string]any{"Variables": variables}}
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

// Environment returns the environment of a stage's function.
func Environment(ctx context.Context, stage, function string) (map[string]string, error) {
	var c struct {
		Environment struct{ Variables map[string]string }
	}
	err := lambda(ctx, http.MethodGet, stage, function, nil, &c)
	return c.Environment.Variables, err
}

// Memory returns the memory of a stage's function in MiB.
func Memory(ctx context.Context, stage, function string) (int, error) {
	var c struct{ MemorySize int }
	err := lambda(ctx, http.MethodGet, stage, function, nil, &c)
	return c.MemorySize, err
}

// Invoke calls a function as EventBridge does and waits for it to end. While the function has no free concurrency, it
// retries, as EventBridge would.
func Invoke(ctx context.Context, stage, function string, event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	for {
		err := of(ctx, http.MethodPost, stage, function, "invocations", body, nil)
		if err == nil || !strings.Contains(err.Error(), "TooManyRequestsException") {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// lambda reads the configuration of a function from LocalStack.
func lambda(ctx context.Context, method, stage, function string, body []byte, into any) error {
	return of(ctx, method, stage, function, "configuration", body, into)
}

func of(ctx context.Context, method, stage, function, what string, body []byte, into any) error {
	name := "zerodag-" + stage + "-" + function
	if err := ask(ctx, method, "functions/"+name+"/"+what, body, into); err != nil {
		return fmt.Errorf("read function %s: %w", name, err)
	}
	return nil
}

// ask calls the first version of Lambda's API, which has nearly all operations.
func ask(ctx context.Context, method, path string, body []byte, into any) error {
	return askPath(ctx, method, "/2015-03-31/"+path, body, into)
}

// askPath calls Lambda's API. LocalStack checks only the signature's scope.
func askPath(ctx context.Context, method, path string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, localstack.Endpoint()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// Concurrency limits how many calls of all functions run at once: more are refused, as in an account at its limit. A
// new account may run ten, an ordinary one a thousand.
func Concurrency(ctx context.Context, most int) error {
	return askPath(ctx, http.MethodPut, fmt.Sprint("/_lsproc/concurrency/", most), nil, nil)
}

// Drops makes receives from a queue for a function fail, as when Lambda has given up on a throttled batch: no function
// is called, and the messages reappear after the queue's visibility timeout, with one more receive.
type Drops struct{ queue, path string }

// DropReceives drops a share of the batches of a queue until End.
func DropReceives(ctx context.Context, queue string, seed uint64, share float64) (Drops, error) {
	d := Drops{queue, "/_lsproc/receives/" + url.PathEscape(queue)}
	if err := askPath(ctx, http.MethodPut, d.path, fmt.Appendf(nil, `{"seed":%d,"share":%g}`, seed, share), nil); err != nil {
		return Drops{}, fmt.Errorf("drop receives of %s: %w", queue, err)
	}
	return d, nil
}

// Count returns how many batches were dropped so far.
func (d Drops) Count(ctx context.Context) (int, error) { return d.ask(ctx, http.MethodGet) }

// End lets all messages reach the function again, and returns how many batches were dropped.
func (d Drops) End(ctx context.Context) (int, error) { return d.ask(ctx, http.MethodDelete) }

func (d Drops) ask(ctx context.Context, method string) (int, error) {
	var batches struct{ Dropped int }
	if err := askPath(ctx, method, d.path, nil, &batches); err != nil {
		return 0, fmt.Errorf("count drops of %s: %w", d.queue, err)
	}
	return batches.Dropped, nil
}
