package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"zerodag/integration/localstack/proxy"
	"zerodag/internal/prices"
)

// usage is the usage of something, in the units of the price list.
type usage struct {
	proxy.Bill
	functions map[string]invocations
}

// invocations holds the invocations of one function.
type invocations struct {
	times  int
	took   time.Duration
	memory int // MiB
	logged int // bytes of the function's own lines
}

// pollers is the number of Lambda's own requests to the queues: it receives a batch and deletes it.
const pollers = 2

func (u usage) invocations() int { return u.functions["executor"].times + u.functions["agent"].times }

// requests returns the number of requests to SQS: ours and those of Lambda's pollers.
func (u usage) requests() int { return u.Messages + u.Ordered + pollers*u.invocations() }

// cost is a part of the bill in dollars.
type cost struct {
	what    string
	dollars float64
}

// compute returns the cost of the functions' time in dollars. The time is LocalStack's: everything else is counted, and
// would be the same on AWS.
func (u usage) compute() float64 {
	seconds := 0.0
	for _, f := range u.functions {
		seconds += f.took.Seconds() * float64(f.memory) / 1024
	}
	return seconds * prices.LambdaGBSecond
}

// timeOfFunctions is the name of this part of the bill.
const timeOfFunctions = "Lambda time"

// costs returns the parts of the bill.
func (u usage) costs() []cost {
	var calls, logs float64
	for _, f := range u.functions {
		calls += float64(f.times)
		logs += float64(f.logged)
	}
	tasks := float64(u.Messages + pollers*u.functions["agent"].times) // all of them are about messages with a group
	queues := float64(u.Ordered+pollers*u.functions["executor"].times)*prices.FIFORequest + tasks*(prices.StandardRequest+prices.FairRequest)
	secrets := float64(u.Calls[proxy.Call{Service: "ssm", Operation: "GetParametersByPath"}]) // at least one value
	objects := 0.0
	for c, n := range u.Calls {
		switch {
		case c.Service != "s3" || c.Operation == http.MethodDelete:
		case c.Operation == http.MethodGet || c.Operation == http.MethodHead:
			objects += float64(n) * prices.ObjectRead
		default:
			objects += float64(n) * prices.ObjectWrite
		}
	}
	return []cost{{"Lambda", calls * prices.LambdaRequest}, {timeOfFunctions, u.compute()}, {"SQS", queues}, {"DynamoDB", u.Writes*prices.WriteUnit + u.Reads*prices.ReadUnit},
		{"S3", objects}, {"API", float64(u.functions["api"].times) * prices.APIRequest}, {"events", float64(u.Of("events")) * prices.BusEvent}, {"notices", float64(u.Of("sns")) * prices.Notice},
		{"logs", logs / (1 << 30) * prices.LogGB}, {"keys", secrets * prices.KeyRequest}}
}

func (u usage) dollars() float64 {
	sum := 0.0
	for _, c := range u.costs() {
		sum += c.dollars
	}
	return sum
}

// figures holds the figures that have budgets.
type figures struct {
	writes, reads, requests, invocations float64
	counted, timed                       float64 // dollars: of all counts, and of the functions' time here
}

func (u usage) figures() figures {
	return figures{u.Writes, u.Reads, float64(u.requests()), float64(u.invocations()), u.dollars() - u.compute(), u.compute()}
}

// share returns the excess over other, taken times times, divided by of.
func (f figures) share(other figures, times, of float64) figures {
	part := func(x, y float64) float64 { return max(x-times*y, 0) / of }
	return figures{part(f.writes, other.writes), part(f.reads, other.reads), part(f.requests, other.requests), part(f.invocations, other.invocations),
		part(f.counted, other.counted), part(f.timed, other.timed)}
}

var report = regexp.MustCompile(`^REPORT RequestId: \S+\tDuration: ([0-9.]+) ms\t.*Memory Size: ([0-9]+) MB`)

// platform matches the beginning of Lambda's own lines about a call: a deployed function writes none below warnings.
var platform = regexp.MustCompile(`^(INIT_START|START|END|REPORT) `)

// invoked reads the invocations that have ended since a time from a function's log.
func (b *bench) invoked(ctx context.Context, function string, since time.Time) (invocations, error) {
	var all invocations
	lines, err := b.Log(ctx, function, since)
	for _, line := range lines {
		if !platform.MatchString(line) {
			all.logged += len(line) + 26 // as CloudWatch counts
		}
		if m := report.FindStringSubmatch(line); m != nil {
			ms, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return all, fmt.Errorf("read %q: %w", line, err)
			}
			all.times++
			all.took += time.Duration(ms * float64(time.Millisecond))
			all.memory, _ = strconv.Atoi(m[2]) // digits
		}
	}
	return all, err
}
