package node_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"zerodag/internal/host"
	"zerodag/operators"
)

// call records a write and calls the hook before and after it.
func (w *world) call(name string, do func() error) error {
	w.mu.Lock()
	hook := w.hook
	w.mu.Unlock()
	ask := func(done bool) error {
		if hook == nil {
			return nil
		}
		w.hooks.Lock()
		defer w.hooks.Unlock()
		return hook(name, done)
	}
	if err := ask(false); err != nil {
		return err
	}
	err := do()
	if err == nil {
		w.mu.Lock()
		w.trace = append(w.trace, name)
		w.mu.Unlock()
	}
	if err == nil {
		err = ask(true)
	}
	return err
}

// intercept sets the hook.
func (w *world) intercept(hook func(call string, done bool) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = hook
}

type seenLog struct {
	host.Log
	w *world
}

func (l seenLog) Append(ctx context.Context, attempt int64, e host.Entry) error {
	return l.w.call(fmt.Sprintf("append %d", e.Seq), func() error { return l.Log.Append(ctx, attempt, e) })
}

type seenQueue struct {
	host.Queue
	name   string
	w      *world
	traits host.Traits
}

func (q *seenQueue) Traits() host.Traits { return q.traits }

func (q *seenQueue) Send(ctx context.Context, messages ...host.Message) error {
	return q.w.call(fmt.Sprintf("send %d to %s", len(messages), q.name), func() error { return q.Queue.Send(ctx, messages...) })
}

// Begin is not a write that tests count.
func (q *seenQueue) Begin(ctx context.Context, d host.Delivery, name string, known host.Entry) (bool, error) {
	return q.Queue.(host.Marker).Begin(ctx, d, name, known)
}

func (q *seenQueue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	return q.w.call("extend "+d.ID, func() error { return q.Queue.Extend(ctx, d, lease) })
}

func (q *seenQueue) Delete(ctx context.Context, d host.Delivery) error {
	return q.w.call("delete "+d.ID, func() error { return q.Queue.Delete(ctx, d) })
}

type seenAttempts struct {
	host.Attempts
	w *world
}

func (a seenAttempts) Start(ctx context.Context, list ...host.NewAttempt) (made []host.Attempt, err error) {
	err = a.w.call("start", func() (err error) {
		made, err = a.Attempts.Start(ctx, list...)
		return err
	})
	return made, err
}

func (a seenAttempts) Finish(ctx context.Context, id int64, e host.End) error {
	return a.w.call("finish", func() error { return a.Attempts.Finish(ctx, id, e) })
}

// schedules gives the port a name that differs from its methods' names.
type schedules interface{ host.Schedules }

type seenSchedules struct {
	schedules
	w *world
}

func (s seenSchedules) Update(ctx context.Context, x host.Schedule, old host.Times, at time.Time) error {
	return s.w.call("update schedule", func() error { return s.schedules.Update(ctx, x, old, at) })
}

// keptLogs keeps the text of logs in the world, by task name.
type keptLogs struct{ w *world }

func (k keptLogs) Open(id operators.Identity, _ time.Time) host.TaskLog {
	return keptLog{k.w, id.TaskName}
}

func (keptLogs) Files(context.Context, host.Attempt, string) ([]host.LogFile, error) { return nil, nil }

func (keptLogs) File(context.Context, host.Attempt, string) (io.ReadCloser, int64, error) {
	return nil, 0, host.ErrNotFound
}

type keptLog struct {
	w    *world
	task string
}

func (k keptLog) Write(p []byte) (int, error) {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	k.w.log[k.task] += string(p)
	return len(p), nil
}

func (k keptLog) Line(_ operators.Level, _, message string) { k.Write([]byte("[" + message + "]")) }
func (k keptLog) Echo(message string)                       { k.Write([]byte(message)) }
func (keptLog) Close() error                                { return nil }
