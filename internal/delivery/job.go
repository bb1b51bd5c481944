package delivery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

// job is a run with copies of the parts of its attempt that it needs, because the attempt may be reloaded in the
// meantime.
type job struct {
	*run.Job
	workflow host.Workflow
	known    host.Entry // number and nonce of the last entry that the run knows
	created  time.Time
	operator string                      // as it is written in the task
	next     []operators.Sandbox         // where the following commands will run
	hidden   bool                        // its parameters may hold secrets
	silent   bool                        // its log was stored in an earlier try, but its result was not
	begins   func(context.Context) error // called once the run has everything that it needs; may be nil
}

// job collects everything that a run can see; its contents do not change later. The lock is held.
func (w *Worker) job(l *attempt, run engine.Run, now time.Time) *job {
	row := l.row
	a := &row
	j := execution.JobOf(&w.Runtime, l.state, run.Task, operators.Task{
		Identity: operators.Identity{
			SiteID: a.Site, ProjectID: a.Project.ID, ProjectName: a.Project.Name, Revision: l.workflow.Revision.Name, Workflow: a.Workflow.Name, SessionID: a.SessionID,
			SessionUUID: a.SessionUUID, SessionTime: a.SessionTime.In(l.state.Definition().Zone), Zone: a.Zone, AttemptID: a.ID, RetryAttemptName: a.RetryName,
		},
		Now: now, TaskLimit: w.Limits.Tasks, Workflows: required{w.Catalogue, a},
		Notifier: notifier{w, a, l.workflow.Revision.Name, failureOf(l.state, l.state.Task(run.Task))},
	})
	j.EvalStored = w.Stored.Evaluated(l.workflow.Config)
	return &job{Job: j, workflow: l.workflow, known: host.Entry{Seq: l.seq, Nonce: l.nonce}, created: row.CreatedAt, operator: execution.Operator(l.state.Task(run.Task)), hidden: l.state.HoldsSecrets()}
}

// notifier notifies users about a task.
type notifier struct {
	worker   *Worker
	attempt  *host.Attempt
	revision string
	failure  *host.Failure // nil for none
}

// Notify implements operators.Notifier.
func (n notifier) Notify(ctx context.Context, message string, t *operators.Task) error {
	if n.failure != nil {
		n.failure.Lines = n.worker.LastLines(ctx, *n.attempt, n.failure.Task)
	}
	notice := host.Notice{Message: message, Attempt: *n.attempt, Revision: n.revision, Task: t.TaskName, Failure: n.failure}
	if k := n.worker.Keeper; k != nil {
		return k.Keep(ctx, notice, fmt.Sprintf("%d/%d.%d", n.attempt.ID, t.TaskID, t.Dispatch))
	}
	err := n.worker.Notices.Notify(ctx, notice)
	if err != nil {
		n.worker.Logger.Warn("notification given up", "attempt", n.attempt.ID, "task", t.TaskName, "message", message, "error", err)
		n.worker.Observer.NoticeLost(*n.attempt)
	}
	return err
}

// failureOf returns the failed task about which a task that the engine generated notifies users.
func failureOf(s *engine.State, t *engine.Task) *host.Failure {
	if !strings.HasSuffix(t.Name, engine.FailureAlert) {
		return nil
	}
	task, message := s.Failure()
	if task == "" {
		return nil
	}
	return &host.Failure{Task: task, Message: message, Tasks: s.FailedTasks()}
}

// required starts attempts for `require>`.
type required struct {
	catalogue Catalogue
	from      *host.Attempt
}

// StartAttempt implements operators.Workflows.
func (r required) StartAttempt(ctx context.Context, q operators.StartRequest) (operators.StartedAttempt, error) {
	return r.catalogue.Require(ctx, *r.from, q)
}
