package cloud

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/catalogue"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// tickStep is the time that a tick spends on checking all attempts.
const tickStep = 30 * time.Second

// checked records which attempts get a check message, and can interrupt a step.
type checked struct {
	mu    sync.Mutex
	times map[string]int // by attempt
	cutAt int            // the number of attempts after which the step is interrupted; 0: never
	cut   context.CancelFunc
}

func (c *checked) note(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleInitialize(ctx, in)
	x, ok := in.Parameters.(*awssqs.SendMessageBatchInput)
	if !ok || err != nil {
		return out, metadata, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range x.Entries {
		c.times[*e.MessageGroupId]++
	}
	if c.cutAt > 0 && len(c.times) >= c.cutAt {
		c.cut()
	}
	return out, metadata, err
}

// unfinished creates attempts of the age at which a sweep checks whether they have begun; one in ten has not. All are
// copies of the first one.
func unfinished(t *testing.T, e *Engine, many int) {
	t.Helper()
	ctx := t.Context()
	p, err := e.DB.Push(ctx, host.Push{Project: "p", Revision: host.Revision{Name: "r", CreatedAt: time.Now(), Archive: "a"},
		Workflows: []dig.Workflow{{Name: "w", Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))}}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.Newest(ctx, 0, p.Name, "w")
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.Start(ctx, catalogue.StartRequest{Workflow: w.ID, SessionTime: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	log, err := e.DB.Load(ctx, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.DB.Finish(ctx, first.ID, host.End{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	made := time.Now().Add(-65 * time.Minute)
	begin := log.Entries[0]
	begin.At = made
	const atOnce = 16
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range many {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			n := host.NewAttempt{Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: time.Unix(int64(i+1), 0), Zone: w.Zone, Params: param.New(),
				CreatedAt: made, WaitsFor: -1, First: begin, Message: host.StartMessage()}
			list, err := e.DB.Start(ctx, n)
			if err == nil && i%10 != 0 {
				err = e.DB.Append(ctx, list[0].ID, host.Entry{Seq: 2, Nonce: "n", At: made, Changes: begin.Changes})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// TestSweepRound proves with real rows that a sweep over all unfinished attempts finishes within the time for the
// ticks' steps: the first step is interrupted, the next one continues from there, and each attempt that has not begun
// gets a message. ZERODAG_ATTEMPTS sets their number (500). It prints the load on a partition next to AWS's limit.
func TestSweepRound(t *testing.T) {
	t.Parallel()
	many := 500
	if n, err := strconv.Atoi(os.Getenv("ZERODAG_ATTEMPTS")); err == nil {
		many = n
	}
	c, p, told := localstack.Config(t), proxy.Start(t, ""), &checked{times: map[string]int{}}
	c.BaseEndpoint = &p.URL
	config := env.Config{Stage: "test", Table: localstack.Name(), Logs: bucket(t, c), Events: queue(t, c, true), Tasks: queue(t, c, false), DeadEvents: queue(t, c, true), DeadTasks: queue(t, c, false)}
	e, err := wire(config, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.DB.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, e.DB.DeleteTable)
	began := time.Now()
	unfinished(t, e, many)
	t.Logf("%d attempts were made in %v", many, time.Since(began).Round(time.Second))
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("note attempts", told.note), middleware.After)
	})
	if e, err = wire(config, c, nil); err != nil { // another process, which has none of them in memory
		t.Fatal(err)
	}
	p.Take()
	told.cutAt = many / 25
	began = time.Now()
	after, over, steps, largest := int64(0), false, 0, time.Duration(0)
	for ; !over && steps < many; steps++ {
		ctx, cancel := context.WithTimeout(t.Context(), tickStep)
		told.cut = cancel
		begins, from := time.Now(), after
		after, over, err = e.Sweep(ctx, after)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if largest = max(largest, time.Since(begins)); steps == 0 && (over || after == from) {
			t.Fatalf("the step that was cut off came to %d, over: %v", after, over)
		}
		told.cutAt = 0
	}
	repeated := 0
	for _, n := range told.times {
		repeated += n - 1
	}
	printRound(t, p, many, steps, time.Since(began))
	t.Logf("the longest step took %v; %d attempts were told to begin, %d of them twice", largest.Round(time.Millisecond), len(told.times), repeated)
	if want := (many + 9) / 10; !over || len(told.times) != want || repeated > 16 {
		t.Errorf("over: %v, %d of %d attempts were told to begin, %d of them twice", over, len(told.times), want, repeated)
	}
}

// printRound prints the calls made by a sweep, and what the load on each partition per second would be if it were done
// in one step.
func printRound(t *testing.T, p *proxy.Proxy, many, steps int, took time.Duration) {
	t.Helper()
	b := p.Take()
	of := func(service, operation string) proxy.Call { return proxy.Call{Service: service, Operation: operation} }
	query, rows := of("dynamodb", "Query"), of("dynamodb", "BatchGetItem")
	t.Logf("a round over %d attempts took %v in %d steps: %d queries, %d reads of rows (BatchGetItem), %d SQS calls that send", many, took.Round(time.Millisecond), steps,
		b.Calls[query], b.Calls[rows], b.Calls[of("sqs", "SendMessageBatch")])
	others := ""
	for call, n := range b.Calls {
		if call.Service == "dynamodb" && call != query && call != rows {
			others += fmt.Sprintf(" %s %d", call.Operation, n)
		}
	}
	t.Logf("%.0f read units of queries (the index of active attempts, spread over %d, and logs, a partition each), %.0f of rows, a partition each; limit %d a second of each partition; other calls:%s",
		b.Units[query], indexParts, b.Units[rows], partitionReads, others)
}
