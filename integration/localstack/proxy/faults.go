package proxy

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Faults holds the shares of calls that fail, by kind of fault.
type Faults struct {
	Throttle  float64  // refused: too many requests
	Before    float64  // not carried out, and answered with 500
	After     float64  // carried out, and answered with 500
	Duplicate float64  // messages of a standard queue are sent twice
	Redeliver float64  // a message in flight becomes visible as soon as its lease is extended
	Services  []string // empty means all
}

type faults struct {
	Faults
	mu     sync.Mutex
	random *rand.Rand
}

// Trouble makes calls fail from now on, depending on a seed; zero Faults end it.
func (p *Proxy) Trouble(seed uint64, f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = &faults{Faults: f, random: rand.New(rand.NewPCG(seed, seed))}
}

// quota is how many calls per second a service accepts from all functions together.
type quota struct {
	most int

	mu     sync.Mutex
	second int64
	calls  int
}

// Quota makes a service refuse calls beyond a number per second from now on, as AWS does for an account.
func (p *Proxy) Quota(service string, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quotas == nil {
		p.quotas = map[string]*quota{}
	}
	p.quotas[service] = &quota{most: most}
}

func (q *quota) exceeded(now time.Time) bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Unix() != q.second {
		q.second, q.calls = now.Unix(), 0
	}
	q.calls++
	return q.calls > q.most
}

// fate is the random decision about a call.
type fate struct {
	throttle, before, after, duplicate, redeliver bool
	kind                                          int
}

func (p *Proxy) draw(c Call) fate {
	p.mu.Lock()
	f := p.faults
	p.mu.Unlock()
	if f == nil || len(f.Services) > 0 && !slices.Contains(f.Services, c.Service) {
		return fate{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	hit := func(share float64) bool { return f.random.Float64() < share }
	return fate{hit(f.Throttle), hit(f.Before), hit(f.After), hit(f.Duplicate), hit(f.Redeliver), f.random.IntN(2)}
}

// refuse returns a refusal in the service's form.
func refuse(c Call, f fate) answer {
	if c.Service == "s3" {
		status, code := http.StatusInternalServerError, "InternalError"
		if f.throttle {
			status, code = http.StatusServiceUnavailable, "SlowDown"
		}
		return answer{status, http.Header{"Content-Type": {"application/xml"}}, []byte("<Error><Code>" + code + "</Code><Message>on purpose</Message></Error>")}
	}
	status, code := http.StatusInternalServerError, "InternalServerError"
	if f.throttle {
		status, code = http.StatusBadRequest, throttled(c.Service, f.kind)
	}
	text, _ := json.Marshal(map[string]string{"__type": code, "message": "on purpose"}) // strings only
	return answer{status, http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, text}
}

func throttled(service string, kind int) string {
	switch {
	case service == "sqs":
		return "RequestThrottled"
	case service == "dynamodb" && kind == 0:
		return "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
	}
	return "ThrottlingException"
}

// repeated returns the request that is sent once more without the client's knowledge, or nil for none.
func (f fate) repeated(c Call, body []byte, a answer) []byte {
	if c.Service != "sqs" || a.status != http.StatusOK {
		return nil
	}
	switch {
	case f.duplicate && strings.HasPrefix(c.Operation, "SendMessage") && !fifo(body):
		return body
	case f.redeliver && c.Operation == "ChangeMessageVisibility":
		var in map[string]any
		if json.Unmarshal(body, &in) != nil || in["VisibilityTimeout"] == 0.0 {
			return nil
		}
		in["VisibilityTimeout"] = 0
		out, _ := json.Marshal(in) // it was read from JSON
		return out
	}
	return nil
}

func fifo(body []byte) bool {
	var o outgoing
	return json.Unmarshal(body, &o) == nil && strings.HasSuffix(o.QueueUrl, ".fifo")
}

// Order is a task that a message in the task queue tells an agent to run.
type Order struct{ Attempt, Task int64 }

// note records how many times each task was sent.
func (p *Proxy) note(c Call, body []byte, a answer) {
	var o outgoing
	if c.Service != "sqs" || !strings.HasPrefix(c.Operation, "SendMessage") || a.status != http.StatusOK || json.Unmarshal(body, &o) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults == nil {
		return
	}
	if p.sent == nil {
		p.sent = map[Order]int{}
	}
	for _, m := range o.messages() {
		number, _, _ := strings.Cut(m.MessageAttributes["id"].StringValue, "/")
		attempt, err := strconv.ParseInt(number, 10, 64)
		var list struct{ Runs []struct{ Task int64 } }
		if err != nil || json.Unmarshal([]byte(m.MessageBody), &list) != nil {
			continue
		}
		for _, r := range list.Runs {
			p.sent[Order{attempt, r.Task}]++
		}
	}
}

// Sent returns how many times each task was sent to the agents since Trouble was first called.
func (p *Proxy) Sent() map[Order]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.sent)
}
