package td

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// work is one run of a task.
type work struct {
	*operators.Task
	params   *operators.Params // with the defaults of `td: {...}`
	config   *operators.Params // of the host, below config.td
	logger   string            // source of messages in the task's log
	poll     interval          // between polls of a job
	pause    interval          // between runs, after a failed call
	pauses   []time.Duration   // within a run, before the call is retried
	client   *api.Client
	database string
	anywhere bool // no database is needed
}

// interval is how long to wait: twice as long each time, from shortest to longest.
type interval struct{ shortest, longest time.Duration }

func (i interval) after(n int64) time.Duration {
	if n >= 30 || i.shortest<<n > i.longest {
		return i.longest
	}
	return i.shortest << n
}

// Defaults of config.td.
const (
	defaultEndpoint = "api.treasuredata.com"
	shortestWait    = time.Second
	longestWait     = 30 * time.Second
)

func newWork(t *operators.Task, logger string) (*work, error) {
	defaults, err := operators.ReadOr(t.Params, "td", param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	w := &work{Task: t, logger: logger, config: operators.NewParams(t.Config.Map("td")),
		params: t.Params.Defaulted(defaults.Without("last_results", "last_job", "last_job_id", "each"))} // these are not defaults
	if w.poll, err = w.interval("poll"); err != nil {
		return nil, err
	}
	if w.pause, err = w.interval("retry"); err != nil {
		return nil, err
	}
	first, err := w.config.DurationOr("call_retry_interval", firstPause)
	for range repetitions {
		w.pauses = append(w.pauses, first)
		first *= 2
	}
	return w, err
}

// A failed call is retried within the run this many times, after pauses that double, as in Digdag.
const (
	repetitions = 3
	firstPause  = 500 * time.Millisecond
)

// interval reads an interval that the host sets.
func (w *work) interval(of string) (i interval, err error) {
	if i.shortest, err = w.config.DurationOr("min_"+of+"_interval", shortestWait); err != nil {
		return i, err
	}
	i.longest, err = w.config.DurationOr("max_"+of+"_interval", longestWait)
	return i, err
}

func (w *work) log(level operators.Level, format string, args ...any) {
	w.Log.Line(level, w.logger, fmt.Sprintf(format, args...))
}

// unreadable is how many times a request is retried if its response is unreadable: it may have taken effect, and the
// domain key finds the job.
const unreadable = 3

// failed decides what happens to a task after a failed call: another run if that may help, otherwise failure. n counts
// the consecutive failures, and next is the state of another run.
func (w *work) failed(ctx context.Context, doing string, err error, n int64, next *param.Map) error {
	var told *api.Unreadable
	var meant *operators.Failure
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &meant): // it reports itself as permanent, regardless of its cause
		return err
	case !api.Temporary(err) && (!errors.As(err, &told) || n >= unreadable):
		return failure(err)
	}
	after := max(w.pause.after(n), api.After(err))
	w.log(operators.Warn, "failed to %s: %v: retrying in %d seconds", doing, err, after/time.Second)
	return &operators.Later{After: after, State: next}
}

// failure returns a call's error as users see it; other errors are returned unchanged.
func failure(err error) error {
	var named interface{ Kind() string }
	var meant *operators.Failure
	if !errors.As(err, &meant) && errors.As(err, &named) {
		return operators.Causedf(err, "%v (%s)", err, named.Kind())
	}
	return err
}

// mostMessage limits how much of a job's output is shown, in bytes.
const mostMessage = 64 << 10

// tail returns the end of a long string: the end of a log is the informative part.
func tail(text string) string {
	if len(text) <= mostMessage {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-mostMessage:], "")
}
