package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Function runs commands on a function: each command is one call, whose end its agent waits for. No machine is
// launched, and nothing polls.
//
// Here, a command is also a row, stored as claimed by its call. A run that finds the row of another call leaves the
// command to that call until it must have ended.
type Function struct {
	*Service
	Caller Caller
	Memory int // MiB that the function has
}

// Limits on commands on a function.
const (
	// callTime is how long a command may take. The function has one more minute, and so does the run of the task.
	callTime = 9 * time.Minute
	// callSlack is the maximum time that a call takes in addition to its command.
	callSlack = time.Minute
	// callOutput is how much a command may write to its log.
	callOutput = 128 << 20
	// callProcesses is how many processes a command may have: Lambda allows 1024 for the whole environment.
	callProcesses = 512
	// ownMemory is the memory that the function itself needs, in bytes.
	ownMemory = 128 << 20
)

// functionClass is the class of commands that no runner takes.
const functionClass = "lambda"

// onlySite is the only site whose commands may use the function: Lambda runs all commands as one user, on machines that
// it reuses, so sites would not be isolated.
const onlySite = 0

// For returns the commands of one task run.
func (f *Function) For(id operators.Identity, archive string) operators.Commands {
	return &calls{f, &commands{f.Service, id, archive, ""}}
}

type calls struct {
	*Function
	run *commands
}

// try is one run of a task that needs a command.
type try struct {
	operators.Command
	asked
}

// Run implements operators.Commands.
func (f *calls) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	if err := f.possible(c.Sandbox); err != nil {
		return operators.Exit{}, err
	}
	a, err := readAsked(c.Status)
	if err != nil {
		return operators.Exit{}, err
	}
	t := try{c, a}
	if a.key == "" {
		return f.begin(ctx, t)
	}
	row, err := f.Commands.Command(ctx, f.run.id.AttemptID, a.key)
	if err != nil {
		return operators.Exit{}, err
	}
	return f.look(ctx, t, row)
}

// possible refuses settings that only machines support.
func (f *calls) possible(b operators.Sandbox) error {
	const instead = ": use a machine instead (sandbox: {executor: fargate})"
	if f.run.id.SiteID != onlySite {
		return param.Errorf("sandbox: the executor lambda is only for site %d, because all its commands share one function%s", onlySite, instead)
	}
	if b.Docker != nil {
		return param.Errorf("docker: the executor lambda cannot run images, only Python 3.13 and a shell%s", instead)
	}
	if b.Time > callTime {
		return param.Errorf("sandbox: timeout may be at most %v with the executor lambda but is %v%s", callTime, b.Time, instead)
	}
	if b.Output > callOutput {
		return param.Errorf("sandbox: output may be at most %s with the executor lambda but is %s%s", operators.Size(callOutput), operators.Size(b.Output), instead)
	}
	var more []string
	for name, asked := range map[string]bool{"cpu": b.CPU > 0, "memory": b.Memory > 0, "disk": b.Disk > 0, "role": b.Role != "", "spot": b.Spot, "fresh": b.Fresh} {
		if asked {
			more = append(more, name)
		}
	}
	if more != nil {
		slices.Sort(more)
		return param.Errorf("sandbox: %s cannot be set with the executor lambda, because all commands use the same function%s", strings.Join(more, ", "), instead)
	}
	return nil
}

// begin stores the command and calls the function with it, unless an earlier run has done so.
func (f *calls) begin(ctx context.Context, t try) (operators.Exit, error) {
	id := strings.ToLower(rand.Text()[:12])
	call, err := f.prepare(ctx, t.Command, id)
	if err != nil {
		return operators.Exit{}, err
	}
	name := callName(id, f.Now().Add(call.Spec.Limits.time()+callSlack))
	who := f.run.id
	row, err := f.Commands.Add(ctx, Command{Attempt: who.AttemptID, Key: call.Key, Site: who.SiteID, Project: who.ProjectID, Task: who.TaskName,
		Class: functionClass, CreatedAt: f.Now(), State: Claimed, Runner: name})
	if err != nil {
		return operators.Exit{}, err
	}
	if row.Runner != name || row.State != Claimed {
		return f.look(ctx, t, row)
	}
	result, err := f.hand(ctx, call, row)
	if result.Stopped { // which must also be stored
		ctx = context.WithoutCancel(ctx)
	}
	switch {
	case err == nil:
		err = call.trust(result)
	case ctx.Err() != nil: // this agent was cut off: another run finds the row
		return operators.Exit{}, ctx.Err()
	case errors.Is(err, ErrUnknown):
		return f.look(ctx, t, row)
	case errors.Is(err, ErrBusy):
		return f.busy(ctx, t, row, err)
	default:
		result, err = f.without(call.Spec.Limits, err)
	}
	if err != nil {
		_, e := f.end(ctx, row, Result{Stopped: true})
		return operators.Exit{}, errors.Join(err, e)
	}
	if row, err = f.end(ctx, row, result); err != nil {
		return operators.Exit{}, err
	}
	return f.look(ctx, t, row)
}

// hand calls the function. If the task must end, it asks the function to end the command, and waits until that is done.
func (f *calls) hand(task context.Context, call Call, row Command) (Result, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(task))
	defer stop()
	toEnd := sync.OnceValue(func() bool { return f.run.toEnd(task) }) // the kill and the response must agree
	defer context.AfterFunc(task, func() {
		if toEnd() {
			f.kill(ctx, row)
			time.AfterFunc(stopTime, stop)
			return
		}
		stop()
	})()
	r, err := f.Caller.Call(ctx, call)
	if toEnd() {
		return Result{Code: 143, Stopped: true, Log: r.Log, LogLost: r.LogLost}, nil // other results no longer count
	}
	r.Lost, r.Stopped = false, false // a function must not set these
	return r, err
}

func (f *calls) limits(b operators.Sandbox) Limits {
	limits := Limits{Seconds: int64(callTime / time.Second), Processes: callProcesses, Output: callOutput, Memory: int64(f.Memory)<<20 - ownMemory}
	if b.Time > 0 {
		limits.Seconds = max(1, int64(b.Time/time.Second))
	}
	if b.Processes > 0 {
		limits.Processes = b.Processes
	}
	if b.Output > 0 {
		limits.Output = b.Output
	}
	return limits
}

// prepare returns the call for a command.
func (f *calls) prepare(ctx context.Context, c operators.Command, id string) (Call, error) {
	who := f.run.id
	o := Order{Key: commandKey(who), Mask: slices.Sorted(maps.Values(c.Secrets)), Spec: Spec{Name: run.FolderName(who), Args: c.Args, Dir: c.Dir, Env: c.Env,
		Scratch: c.Scratch, Files: c.Files, Outputs: c.Outputs, Archive: f.run.archive, Limits: f.limits(c.Sandbox),
		LogID: LogID{Site: who.SiteID, Attempt: who.AttemptID, Task: who.TaskName}}}
	call, err := f.call(ctx, o, id)
	if err != nil {
		return call, err
	}
	text, err := json.Marshal(call)
	if err != nil {
		return call, fmt.Errorf("encode call: %w", err)
	}
	if len(text) > MaxCall {
		return call, param.Errorf("the scripts and parameters of the command have %s, but the executor lambda accepts at most %s: use a machine instead (sandbox: {executor: fargate})",
			operators.Size(int64(len(text))), operators.Size(MaxCall))
	}
	return call, nil
}

// without returns the outcome of a call that ended without a result.
func (f *calls) without(limits Limits, err error) (Result, error) {
	switch {
	case errors.Is(err, ErrMemory):
		return Result{Code: 137, Why: operators.OutOfMemory(int64(f.Memory) << 20)}, nil
	case errors.Is(err, ErrTime):
		return Result{Code: 137, Why: operators.TooLong(limits.time())}, nil
	case errors.Is(err, ErrCrashed):
		return Result{Lost: true, Why: err.Error()}, nil
	}
	return Result{}, err
}

// busy gives the command back; it is tried again later under another key.
func (f *calls) busy(ctx context.Context, t try, row Command, why error) (operators.Exit, error) {
	if _, err := f.end(ctx, row, Result{Lost: true, Why: why.Error()}); err != nil {
		return operators.Exit{}, err
	}
	return operators.Exit{}, &operators.Pending{Status: param.New(statusLosses, t.losses, statusBusy, t.busy+1), After: later(int(t.busy))}
}

// end stores how the command ended, so that no other run of the task repeats it. It retries for as long as this run may
// take, because no other process has the result.
func (f *calls) end(ctx context.Context, row Command, r Result) (Command, error) {
	for tries := 0; ; tries++ {
		over, err := f.Commands.End(ctx, row.Attempt, row.Key, row.Runner, r)
		switch {
		case err == nil:
			return over, f.wake(ctx, over)
		case errors.Is(err, host.ErrConflict): // the command was given up, or the attempt was killed
			return f.Commands.Command(ctx, row.Attempt, row.Key)
		case !errors.Is(err, host.ErrUnavailable):
			return over, err
		}
		select {
		case <-time.After(time.Second << min(tries, 3)):
		case <-ctx.Done():
			return over, err
		}
	}
}

// look returns how a command ended, or waits for the call that will report it.
func (f *calls) look(ctx context.Context, t try, row Command) (operators.Exit, error) {
	if row.State != Over {
		until, err := waitsUntil(row.Runner)
		if err != nil {
			return operators.Exit{}, err
		}
		wait := until.Sub(f.Now())
		if wait > 0 {
			row, err = f.Commands.Park(ctx, row.Attempt, row.Key, f.run.id.Dispatch)
		} else {
			row, err = f.end(ctx, row, Result{Lost: true, Why: "no result arrived in time"})
		}
		if err != nil {
			return operators.Exit{}, err
		}
		if row.State != Over {
			return operators.Exit{}, &operators.Pending{Status: status(row.Key, t.losses, 0), After: wait}
		}
	}
	if row.Result.Lost {
		return f.again(ctx, t, row)
	}
	t.Stdout.Write(row.Result.Log) //nolint:errcheck // a task's log never fails
	return f.run.exit(ctx, t.Stdout, row)
}

// again runs a lost command again, under another key, because each run has its own key.
func (f *calls) again(ctx context.Context, t try, row Command) (operators.Exit, error) {
	if row.Key == commandKey(f.run.id) {
		return operators.Exit{}, &operators.Pending{Status: status(row.Key, t.losses, 0)}
	}
	if t.losses++; t.losses >= maxLosses {
		return operators.Exit{}, operators.Failf("The command's function was lost %d times (%s): use a machine instead (sandbox: {executor: fargate})", t.losses, row.Result.Why)
	}
	t.Stdout.Write([]byte("zerodag: the function of this command was lost (" + row.Result.Why + "): it runs again\n")) //nolint:errcheck // a task's log never fails
	return f.begin(ctx, t)
}

// Stop implements operators.Commands. The result of the command no longer counts.
func (f *calls) Stop(ctx context.Context, status *param.Map) error {
	key, err := operators.NewParams(status).StringOr(statusKey, "")
	if err != nil || key == "" {
		return err
	}
	over, err := f.Commands.End(ctx, f.run.id.AttemptID, key, "", Result{Code: 143, Stopped: true})
	if errors.Is(err, host.ErrConflict) || errors.Is(err, host.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	f.kill(ctx, over)
	return nil
}
