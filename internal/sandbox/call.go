package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Caller hands commands to a function.
type Caller interface {
	// Call hands over one command and waits for its end. It must never do so twice. Errors: ErrBusy, ErrMemory,
	// ErrTime, ErrCrashed, ErrUnknown; any other error means that the call was refused, and is for the user.
	Call(ctx context.Context, c Call) (Result, error)
}

// The errors of a call that ends without a result. ErrBusy also means that nothing was begun.
var (
	// ErrMemory and ErrTime mean that the function ran out of memory or time and was ended together with the command.
	ErrMemory = errors.New("the function ran out of memory")
	ErrTime   = errors.New("the function took too long")
	// ErrCrashed means that the call has ended and nothing is known about the command.
	ErrCrashed = errors.New("the function was lost")
	// ErrUnknown means that there was no response, and that the call may still be running.
	ErrUnknown = errors.New("the function did not respond")
)

// Call is a function's input: a command, and the places for its output.
type Call struct {
	Order
	// Logs holds the places for the parts of its log, each for twice as many bytes as the previous one.
	Logs []string `json:"logs"`
	// Outputs holds the places for output files that are too large for a result.
	Outputs map[string]Given `json:"outputs,omitempty"`
	// Killed is a link to an object that exists only if the call was killed.
	Killed string `json:"killed_url"`
}

// MaxCall limits the input of a function, in bytes of JSON: Lambda accepts 6 MB.
const MaxCall = 5_500_000

// parts is how many parts a log may have: together 255 MiB, compressed.
const parts = 8

// callName returns the name of a call, which contains the time until which its caller may wait for its end.
func callName(id string, until time.Time) string {
	return fmt.Sprintf("call-%s-%d", id, until.UnixMilli())
}

// kill makes a function end the call that carries out a command: the function checks every two seconds. Calls that
// cannot be reached end at their time limit.
func (f *Function) kill(ctx context.Context, c Command) {
	id, _, _ := strings.Cut(strings.TrimPrefix(c.Runner, "call-"), "-")
	if err := f.Links.Put(ctx, killKey(c.Attempt, id), []byte("killed\n")); err != nil {
		f.Logger.Warn("a killed command keeps running until it ends", "attempt", c.Attempt, "task", c.Task, "error", err)
	}
}

// killKey returns a key below the attempt's keys, which expires with them.
func killKey(attempt int64, call string) string {
	return "log/" + strconv.FormatInt(attempt, 10) + "/killed/" + call
}

// waitsUntil returns the time after which no caller still waits for a call.
func waitsUntil(name string) (time.Time, error) {
	ms, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	if err != nil || !strings.HasPrefix(name, "call-") {
		return time.Time{}, fmt.Errorf("%q is not the name of a call", name)
	}
	return time.UnixMilli(ms), nil
}

// call completes a command with links and with all its secrets, which are stored nowhere else.
func (f *Function) call(ctx context.Context, o Order, id string) (c Call, err error) {
	c = Call{Order: o, Outputs: map[string]Given{}}
	if c.Archive, err = f.Links.Blob(ctx, o.Spec.Archive); err != nil {
		return c, err
	}
	if c.Killed, err = f.Links.Blob(ctx, killKey(o.Spec.LogID.Attempt, id)); err != nil {
		return c, err
	}
	now := f.Now()
	for i := range parts { // they are listed in the order of their times
		url, err := f.Links.Log(ctx, o.Spec.LogID, id, now.Add(time.Duration(i)*time.Millisecond))
		if err != nil {
			return c, err
		}
		c.Logs = append(c.Logs, url)
	}
	for _, name := range o.Spec.Outputs {
		blob := outputKey(Runner{Attempt: o.Spec.LogID.Attempt, ID: id}, o.Key, name)
		url, err := f.Links.Output(ctx, blob, -1)
		if err != nil {
			return c, err
		}
		c.Outputs[name] = Given{URL: url, Blob: blob}
	}
	return c, nil
}

// trust returns an error unless a result names only files that its command could write.
func (c Call) trust(r Result) error {
	for name, blob := range r.Blobs {
		if c.Outputs[name].Blob != blob {
			return fmt.Errorf("the command function reported %s at the invalid place %s", name, blob)
		}
	}
	return nil
}

func (l Limits) time() time.Duration { return time.Duration(l.Seconds) * time.Second }
