package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	own "zerodag/events"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// Limits that AWS sets for one partition of a table or an index, in units per second.
const (
	partitionReads  = 3000
	partitionWrites = 1000
)

// indexParts is the number of partitions over which the index of due schedules is spread.
const indexParts = 8

// fired records which schedules are sent, and can interrupt a tick.
type fired struct {
	mu    sync.Mutex
	times map[int64]int // by schedule
	cutAt int           // the number of schedules after which the tick is interrupted
	cut   context.CancelFunc
	first time.Time // when the first ones were sent
}

func (f *fired) note(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleInitialize(ctx, in)
	x, ok := in.Parameters.(*awssqs.SendMessageBatchInput)
	if !ok || err != nil {
		return out, metadata, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first.IsZero() {
		f.first = time.Now()
	}
	for _, e := range x.Entries {
		m, err := own.DecodeTask([]byte(*e.MessageBody))
		if err != nil {
			return out, metadata, err
		}
		for _, s := range m.Fire {
			f.times[s.Schedule]++
		}
	}
	if len(f.times) >= f.cutAt {
		f.cut()
	}
	return out, metadata, err
}

// minute is a deployment whose clock is set just before a minute in which schedules are due.
type minute struct {
	*Engine
	proxy *proxy.Proxy
	fired *fired
	base  time.Time // when the first one is due
}

func newMinute(t *testing.T) *minute {
	t.Helper()
	c := localstack.Config(t)
	m := &minute{proxy: proxy.Start(t, ""), fired: &fired{times: map[int64]int{}}, base: time.Now().Truncate(time.Second).Add(time.Hour)}
	c.BaseEndpoint = &m.proxy.URL
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("note schedules", m.fired.note), middleware.After)
	})
	config := env.Config{Stage: "test", Table: localstack.Name(), Events: queue(t, c, true), Tasks: queue(t, c, false), DeadEvents: queue(t, c, true), DeadTasks: queue(t, c, false)}
	var err error
	if m.Engine, err = wire(config, c, nil); err != nil {
		t.Fatal(err)
	}
	m.Logger = slog.New(slog.DiscardHandler)
	if err := m.DB.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, m.DB.DeleteTable)
	now := func() time.Time { return m.base.Add(-5 * time.Second) }
	m.Ticker.Now, m.Tasks.Now = now, now
	return m
}

// push creates the given number of schedules, spread over the minute's seconds.
func (m *minute) push(t *testing.T, many int) {
	t.Helper()
	const each, atOnce = 50, 8
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := 0; i < many; i += each {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			p := host.Push{Project: fmt.Sprint("p", i), Revision: host.Revision{Name: "r", CreatedAt: time.Now(), Archive: "a"}, Schedules: map[string]host.NextTimes{}}
			for j := range min(each, many-i) {
				name, due := fmt.Sprint("w", j), m.base.Add(time.Duration((i+j)%60)*time.Second)
				p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))})
				p.Schedules[name] = func(*host.Schedule, bool) host.Times { return host.Times{Run: due, Session: due} }
			}
			if _, err := m.DB.Push(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// TestTickMinute proves with real rows that ticks send all schedules of one minute. They are sent as they are read, and
// the mark advances as they are sent, so that the tick after an interrupted one continues from there. ZERODAG_SCHEDULES
// sets their number (2,000). It prints the load on a partition next to AWS's limit.
func TestTickMinute(t *testing.T) {
	t.Parallel()
	many := 2000
	if n, err := strconv.Atoi(os.Getenv("ZERODAG_SCHEDULES")); err == nil {
		many = n
	}
	m := newMinute(t)
	began := time.Now()
	m.push(t, many)
	t.Logf("%d schedules were made in %v", many, time.Since(began).Round(time.Second))
	m.proxy.Take()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.fired.cut, m.fired.cutAt = cancel, many*6/10
	began = time.Now()
	if err := m.Ticker.Once(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first tick was to be cut off: %v", err)
	}
	half := len(m.fired.times)
	if half == 0 || half == many {
		t.Fatalf("the tick that was cut off had sent %d of %d schedules", half, many)
	}
	marks, err := m.DB.Marks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reached := time.UnixMicro(marks[host.Handed])
	if !reached.After(m.base.Add(-time.Second)) || !reached.Before(m.base.Add(time.Minute)) {
		t.Errorf("the mark of the tick that was cut off is %v, the minute begins at %v", reached, m.base)
	}
	if err := m.Ticker.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	repeated := 0
	for _, n := range m.fired.times {
		repeated += n - 1
	}
	m.print(t, many, took)
	t.Logf("the first tick was cut off after %d schedules, at the mark %v of the minute; the next one sent %d of them again; the first message came %v after the tick began",
		half, reached.Sub(m.base).Round(time.Second), repeated, m.fired.first.Sub(began).Round(time.Millisecond))
	if len(m.fired.times) != many || repeated > half/2+1000 {
		t.Errorf("%d of %d schedules were sent, %d of them twice", len(m.fired.times), many, repeated)
	}
	if marks, err = m.DB.Marks(t.Context()); err != nil || time.UnixMicro(marks[host.Handed]).Before(m.base.Add(59*time.Second)) {
		t.Errorf("the mark ends at %v, %v", time.UnixMicro(marks[host.Handed]), err)
	}
}

// print prints the calls made by the ticks, and the load on each partition per second.
func (m *minute) print(t *testing.T, many int, took time.Duration) {
	t.Helper()
	b := m.proxy.Take()
	calls := func(service, operation string) int {
		return b.Calls[proxy.Call{Service: service, Operation: operation}]
	}
	units := func(operation string) float64 {
		return b.Units[proxy.Call{Service: "dynamodb", Operation: operation}]
	}
	seconds := took.Seconds()
	t.Logf("two ticks over %d schedules took %v: %d queries of the index, %d reads of rows (BatchGetItem), %d moves of marks, %d SQS calls that send",
		many, took.Round(time.Millisecond), calls("dynamodb", "Query"), calls("dynamodb", "BatchGetItem"), calls("dynamodb", "UpdateItem"), calls("sqs", "SendMessageBatch"))
	t.Logf("of one partition of the index (%d): %.1f read units a second of %d; rows are spread over as many partitions as there are schedules: %.0f read units a second of all; of the row of marks: %.1f write units a second of %d",
		indexParts, units("Query")/indexParts/seconds, partitionReads, units("BatchGetItem")/seconds, units("UpdateItem")/seconds, partitionWrites)
}
