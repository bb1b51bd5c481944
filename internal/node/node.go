// Package node combines catalogue and delivery, on top of a deployment's ports, into one process's part of the
// deployment, and runs the loops of a self-contained process: it receives events and tasks, fires schedules when they
// are due, and maintains attempts.
//
// The server and the Lambdas each create a Node. This package must contain no rules about attempts or schedules, which
// belong to delivery and catalogue.
package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/catalogue"
	"zerodag/internal/delivery"
	"zerodag/internal/host"
	"zerodag/internal/pool"
	"zerodag/internal/replay"
	"zerodag/internal/retry"
)

// Options holds the parts and settings of a Node.
type Options struct {
	host.Ports
	host.Runtime

	// Shared means that other processes work on the same attempts: this process's copies in memory may be outdated.
	Shared bool
	// FiredByMessages means that no process runs all the time: a tick hands the firings of schedules to the queue
	// "tasks" (Node.HandOver). Otherwise the loop of Run fires them.
	FiredByMessages bool

	// Stopping, unless nil, is called when Run is asked to end: after that, the end of this process does not count as a
	// crash, no matter what causes it.
	Stopping func()
	// Pause replaces the timer that waits for an unavailable store; nil means a timer.
	Pause func(context.Context, time.Duration)
}

// Node is one process's part of a deployment. It is safe for concurrent use.
type Node struct {
	*catalogue.Catalogue
	worker    *delivery.Worker
	retry     *retry.Retrier
	messages  catalogue.Messages
	alarm     alarm
	closing   atomic.Bool
	stopping  func()
	events    host.Queue
	tasks     host.Queue
	logs      host.Logs
	inventory host.Inventory // nil: the queues cannot list their messages
	now       func() time.Time
	logger    *slog.Logger
	limits    host.Limits
	shared    bool
	working   sync.WaitGroup
}

// New returns a Node, which does nothing until Run.
func New(o Options) *Node {
	o.Ports = o.Ports.WithDefaults()
	n := &Node{stopping: o.Stopping, events: o.Events, tasks: o.Tasks, logs: o.Logs, inventory: o.Inventory, now: o.Now, logger: o.Logger, limits: o.Limits, shared: o.Shared,
		alarm:    newAlarm(),
		retry:    &retry.Retrier{Most: o.Limits.StoreRetry, Now: o.Now, Logger: o.Logger, Pause: o.Pause},
		messages: catalogue.Messages{Tasks: o.Tasks, Now: o.Now}}
	reader := &replay.Reader{Log: o.Log, Attempts: o.Attempts, Workflows: o.Workflows, Defaults: o.Defaults}
	live := delivery.NewAttempts(reader, o.Shared)
	n.Catalogue = catalogue.New(catalogue.Options{Ports: o.Ports, Reader: reader, Live: live, Timing: n.timing(o.FiredByMessages), Retry: n.retry})
	n.worker = delivery.New(delivery.Options{Ports: o.Ports, Runtime: o.Runtime, Live: live, Slots: pool.NewRunner(o.Semaphore, o.Pools, o.Events, o.Now),
		Catalogue: n.Catalogue, Retry: n.retry, Closing: n.closing.Load,
		LastLines: func(ctx context.Context, a host.Attempt, task string) []string {
			return lastLines(ctx, o.Logs, a, task)
		}})
	return n
}

// Within returns a Node for requests from a caller to whom confine shows only some projects of their site. It only
// serves the API: its loops must not run.
func (n *Node) Within(confine func(host.Ports) host.Ports) *Node {
	return &Node{Catalogue: n.Catalogue.Within(confine), worker: n.worker, retry: n.retry, logs: n.logs, inventory: n.inventory, now: n.now, logger: n.logger, limits: n.limits}
}

func (n *Node) timing(byMessages bool) catalogue.Timing {
	if byMessages {
		return n.messages
	}
	return n.alarm
}

// TakeEvents handles messages of one group of the queue "events"; see delivery.Worker.
func (n *Node) TakeEvents(ctx context.Context, q host.Queue, list []host.Delivery) {
	n.worker.TakeEvents(ctx, q, list)
}

// TakeTask handles a message of the queue "tasks"; see delivery.Worker.
func (n *Node) TakeTask(ctx context.Context, q host.Queue, d host.Delivery) {
	n.worker.TakeTask(ctx, q, d)
}

// StartByEvent starts the attempt that an event requested, now or later; see delivery.Worker.
func (n *Node) StartByEvent(ctx context.Context, d events.StartDetail, named bool) error {
	return n.worker.StartByEvent(ctx, d, named)
}

// Runners returns a function that finds the servers that run tasks of an attempt, by task, in the attempt's state; it
// finds none if the queues cannot show who holds their messages.
func (n *Node) Runners(ctx context.Context, a host.Attempt) (func(*engine.State) map[engine.TaskID]string, error) {
	if n.inventory == nil || a.Done || a.AfterSession != 0 {
		return func(*engine.State) map[engine.TaskID]string { return nil }, nil
	}
	held, err := n.inventory.HeldOf(ctx, a.ID)
	return func(s *engine.State) map[engine.TaskID]string { return delivery.Runners(s, held) }, err
}

// HandOver sends messages for the schedules that are due after from and up to until, as they are read. sent, unless
// nil, is called with the time up to which all are sent. Doing so twice, late, or in two places at once changes
// nothing.
func (n *Node) HandOver(ctx context.Context, from, until time.Time, sent func(time.Time) error) error {
	return n.EachFiring(ctx, from, until, func(list []catalogue.Firing) error {
		if err := n.messages.Send(ctx, list); err != nil || sent == nil {
			return err
		}
		return sent(list[len(list)-1].Schedule.Times.Run.Add(-time.Microsecond)) // more rows with the same time may follow
	})
}

// Stats holds the counts for health and metrics since the start of this process.
type Stats struct {
	Started, Finished, Failed int64 // attempts
	TasksRun                  int64
	TasksRunning              int64
	SchedulesFired            int64
	ScheduleDelay             time.Duration // of the schedule that fired last
	Errors                    int64         // failures that will be retried
}

// Stats returns the counts.
func (n *Node) Stats() Stats {
	c := n.Counts()
	run, running := n.worker.Runs()
	return Stats{Started: c.Started, Finished: c.Finished, Failed: c.Failed, TasksRun: run, TasksRunning: running,
		SchedulesFired: c.Fired, ScheduleDelay: c.Delay, Errors: n.retry.Failures()}
}
