package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"zerodag/engine/param"
	"zerodag/operators"
)

// temporary is a failure after which the request is retried.
type temporary struct{ message string }

func (e *temporary) Error() string { return e.message }

// run sends the request once. After a temporary failure, the task runs again until the time limit is reached: `_retry`
// is for lasting failures.
func (r *request) run(ctx context.Context) (*answer, error) {
	a, err := r.send(ctx)
	if err == nil {
		err = r.judge(a)
	}
	var again *temporary
	if !errors.As(err, &again) {
		return a, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	later := r.pollAgain()
	if later == nil {
		return nil, operators.Failf("%s (gave up after %s: see retry_for)", again.message, r.retryFor)
	}
	r.task.Log.Line(operators.Warn, "HttpOperator",
		fmt.Sprintf("HTTP request failed. %s: retrying in %d seconds", again.message, later.After/time.Second))
	return nil, later
}

// The state of retries: {request: {retry: N, since: seconds, try: N}}, where try is that of `_retry`; each of its tries
// has the full time.
const (
	stateKey    = "request"
	longestPoll = 30 * time.Second
)

// pollAgain returns a request for another run, or nil if time has run out.
func (r *request) pollAgain() *operators.Later {
	number := func(of *param.Map, key string, otherwise int64) int64 {
		n, _ := operators.NewParams(of).IntOr(key, otherwise) // ours: always a number
		return n
	}
	state, now := r.task.State.Map(stateKey), r.task.Now.Unix()
	retries, since, try := number(state, "retry", 0), number(state, "since", now), number(r.task.State, "retry_count", 0)
	if number(state, "try", 0) != try {
		retries, since = 0, now
	}
	wait := longestPoll
	if retries < 5 {
		wait = min(wait, time.Second<<retries)
	}
	if r.retryFor > 0 {
		left := r.retryFor - time.Duration(now-since)*time.Second
		if left <= 0 {
			return nil
		}
		wait = min(wait, left)
	}
	next := r.task.State.Clone()
	next.Set(stateKey, param.New("retry", retries+1, "since", since, "try", try))
	return &operators.Later{After: wait, State: next}
}

func (r *request) send(ctx context.Context) (*answer, error) {
	request, err := r.build(ctx)
	if err != nil {
		return nil, err
	}
	r.task.Log.Line(operators.Info, "HttpOperator", "Sending HTTP request: "+r.method+" "+r.shown)
	response, err := r.client().Do(request)
	if err != nil {
		return nil, r.unanswered(err)
	}
	defer response.Body.Close()
	a, err := readAnswer(response)
	if err != nil {
		return nil, r.unanswered(err)
	}
	r.task.Log.Line(operators.Info, "HttpOperator", fmt.Sprintf("Received HTTP response: %s %s: %s, %d bytes",
		r.method, r.shown, a.reason(), len(a.content)))
	return a, nil
}

func (r *request) build(ctx context.Context) (*http.Request, error) {
	text := ""
	if r.body != nil {
		text = r.body.text
	}
	request, err := http.NewRequestWithContext(ctx, r.method, r.uri.String(), strings.NewReader(text))
	if err != nil {
		return nil, operators.Faultf("illegal argument", "Invalid HTTP request: %s", plainReason(err))
	}
	request.Header.Set("User-Agent", r.settings.userAgent)
	own := http.Header{}
	for _, h := range r.headers {
		if http.CanonicalHeaderKey(h.name) == "Host" {
			request.Host = h.value
			continue
		}
		if !httpguts.ValidHeaderFieldName(h.name) || !httpguts.ValidHeaderFieldValue(h.value) {
			return nil, operators.Failf("invalid header %q: names consist of letters, digits and hyphens, and values must not contain line breaks", h.name)
		}
		own.Add(h.name, h.value)
	}
	if r.body != nil && own.Get("Content-Type") == "" {
		own.Set("Content-Type", r.body.kind)
	}
	for name := range own {
		request.Header[name] = own[name]
	}
	return request, nil
}

// judge converts a status to success, a failure, or a reason to retry.
func (r *request) judge(a *answer) error {
	if a.status >= 200 && a.status < 400 {
		return nil
	}
	return r.refused(a)
}

// refused returns the failure for an unsuccessful status.
func (r *request) refused(a *answer) error {
	told := fmt.Sprintf("%s %s - %s: %s", r.method, r.shown, a.reason(), a.summary(r.settings.maxStored))
	switch {
	case a.status == http.StatusRequestTimeout || a.status == http.StatusTooManyRequests:
		return &temporary{"Failed HTTP request: " + told}
	case a.status >= 400 && a.status < 500:
		return operators.Failf("HTTP 4XX Client Error: %s", told)
	case a.status >= 500 && a.status < 600:
		return r.ifRetried(nil, "HTTP 5XX Server Error: "+told)
	}
	return r.ifRetried(nil, "Unexpected HTTP status: "+told)
}

// unanswered returns the failure of a request without a response; it never names the URI that was actually requested.
func (r *request) unanswered(err error) error {
	var proxy *operators.ProxyRefusal
	if errors.As(err, &proxy) {
		return r.refused(&answer{status: proxy.Status, content: []byte("the proxy refused to connect")})
	}
	var never *impossible
	if errors.As(err, &never) || lastingFailure(err) {
		return operators.Causedf(err, "HTTP request failed: %s %s: %s", r.method, r.shown, plainReason(err))
	}
	return r.ifRetried(err, fmt.Sprintf("HTTP request failed: %s %s: %s", r.method, r.shown, plainReason(err)))
}

// ifRetried returns a temporary failure if the request may be retried, or else a failure of the task; cause is nil if
// the response alone is the reason.
func (r *request) ifRetried(cause error, message string) error {
	if r.retry {
		return &temporary{message}
	}
	return operators.Causedf(cause, "%s", message)
}

// plainReason returns an error without the URL that net/http adds.
func plainReason(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}
