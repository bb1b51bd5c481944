// Package proxy sits between the functions and LocalStack: it counts their requests as a bill would, and injects faults
// from a seed.
//
// Crash tests and `make bench-aws` use it. Calls of LocalStack itself, such as those of the pollers that feed
// functions, do not pass through it; it must never be between a client and a real account, because it alters requests
// after they were signed.
package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/localstack"
)

// Proxy is a running proxy.
type Proxy struct {
	URL string // for AWS_ENDPOINT_URL

	target string
	tables string // address for DynamoDB calls; "" means the target
	client *http.Client
	stop   []func()
	mu     sync.Mutex
	bill   Bill
	faults *faults
	quotas map[string]*quota // by service
	guard  *guard
	sent   map[Order]int

	excesses []string
}

// Excesses returns the calls of all functions that were refused because of their sizes.
func (p *Proxy) Excesses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.excesses)
}

// Start starts a proxy in front of LocalStack or of another target. It ends with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, stop, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return p
}

// Open starts a proxy in front of a target; "" means LocalStack.
func Open(target string) (p *Proxy, stop func(), err error) {
	p = &Proxy{target: target, bill: emptyBill(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}}
	if target == "" {
		p.target = localstack.Endpoint()
		if p.tables, err = localstack.Tables(); err != nil {
			return nil, nil, err
		}
	}
	if p.URL, err = p.listen(""); err != nil {
		return nil, nil, err
	}
	return p, func() {
		for _, stop := range p.stop {
			stop()
		}
	}, nil
}

// listen opens a port for the calls of a function.
func (p *Proxy) listen(caller string) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open a port for the proxy: %w", err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(caller, w, r) })}
	go s.Serve(l)
	p.stop = append(p.stop, func() { s.Close() })
	return "http://" + l.Addr().String(), nil
}

// answer is the result of a call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// serve forwards a call of a function, unless its role does not allow it, it is larger than AWS accepts, there are too
// many calls, or a fault is drawn for it.
func (p *Proxy) serve(caller string, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	c := identify(r, body)
	p.mu.Lock()
	guard, quota := p.guard, p.quotas[c.Service]
	p.mu.Unlock()
	if no := guard.refusal(caller, c, r, body); no != nil {
		no.write(w)
		return
	}
	if too := excessOf(c, r, body); too != nil {
		p.mu.Lock()
		p.excesses = append(p.excesses, caller+": "+too.text)
		p.mu.Unlock()
		too.answer(c).write(w)
		return
	}
	fate := p.draw(c)
	if quota.exceeded(time.Now()) {
		fate.throttle = true
	}
	if fate.throttle || fate.before {
		p.count(c, nil, answer{}) // it is still billed
		refuse(c, fate).write(w)
		return
	}
	sent := metered(c, body)
	a, err := p.forward(r, sent)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	p.count(c, body, a)
	p.note(c, body, a)
	if again := fate.repeated(c, body, a); again != nil {
		if b, err := p.forward(r, again); err == nil {
			p.note(c, again, b)
		}
	}
	if fate.after {
		a = refuse(c, fate)
	}
	a.write(w)
}

// to returns the target of a call: DynamoDB calls, which are half of all calls, go directly to DynamoDB, because
// LocalStack would only forward them.
func (p *Proxy) to(r *http.Request) string {
	if p.tables != "" && strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
		return p.tables
	}
	return p.target
}

// forward keeps the host name that the client used, because pre-signed links are signed with it. A call is carried out
// even if its client was killed meanwhile, so that its outcome is known.
func (p *Proxy) forward(r *http.Request, body []byte) (answer, error) {
	out, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, p.to(r)+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	out.Header = r.Header.Clone()
	out.Host = r.Host
	in, err := p.client.Do(out)
	if err != nil {
		return answer{}, err
	}
	defer in.Body.Close()
	text, err := io.ReadAll(in.Body)
	return answer{in.StatusCode, in.Header, text}, err
}

func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}
