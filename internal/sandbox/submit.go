package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

// For returns the commands of one task run.
func (s *Service) For(id operators.Identity, archive string) operators.Commands {
	return &commands{s, id, archive, ""}
}

type commands struct {
	*Service
	id      operators.Identity
	archive string
	on      string // Class.On of its machines
}

// The state params of an unfinished command.
const (
	statusKey    = "command"
	statusLosses = "losses"
	statusBusy   = "busy" // how often in a row there was no capacity for it
)

func status(key string, losses, busy int64) *param.Map {
	m := param.New(statusKey, key, statusLosses, losses)
	if busy > 0 {
		m.Set(statusBusy, busy)
	}
	return m
}

// commandKey returns the key of the command that this run requests: a run that is repeated after a crash has the same
// retry count as before.
func commandKey(id operators.Identity) string {
	return strconv.FormatInt(id.TaskID, 10) + "." + strconv.Itoa(id.RetryCount)
}

func parseKey(key string) (task engine.TaskID, count int, err error) {
	first, second, _ := strings.Cut(key, ".")
	n, err := strconv.ParseInt(first, 10, 32)
	if err == nil {
		count, err = strconv.Atoi(second)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not the key of a command", key)
	}
	return engine.TaskID(n), count, nil
}

// asked is the state of a task's command between its runs.
type asked struct {
	key    string // "" before the first command
	losses int64
	busy   int64
}

func readAsked(status *param.Map) (a asked, err error) {
	p := operators.NewParams(status)
	if a.key, err = p.StringOr(statusKey, ""); err != nil {
		return a, err
	}
	if a.losses, err = p.IntOr(statusLosses, 0); err != nil {
		return a, err
	}
	a.busy, err = p.IntOr(statusBusy, 0)
	return a, err
}

// Run implements operators.Commands: it stores the command for runners to find, makes sure that there will be a runner,
// and returns how the command ended, or that it is pending. It is also pending while the store is unavailable.
func (s *commands) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	a, err := readAsked(c.Status)
	if err != nil {
		return operators.Exit{}, err
	}
	first := a.key == ""
	if first {
		a.key = commandKey(s.id)
	}
	exit, err := s.attend(ctx, c, &a, first)
	if err != nil && ctx.Err() != nil {
		return operators.Exit{}, s.cutOff(ctx, err, a.key)
	}
	if errors.Is(err, host.ErrUnavailable) {
		return operators.Exit{}, &operators.Pending{Status: status(a.key, a.losses, a.busy), After: outage}
	}
	return exit, err
}

// cutOff ends a run whose ctx has ended. If the task must end, its command ends with it; otherwise another run
// continues with the command.
func (s *commands) cutOff(ctx context.Context, err error, key string) error {
	var p *operators.Pending
	if errors.As(err, &p) || !s.toEnd(ctx) { // the caller stops a pending one
		return err
	}
	return errors.Join(err, s.stop(context.WithoutCancel(ctx), key))
}

// toEnd reports whether the ctx of a run has ended because the task must end, if that can be read.
func (s *commands) toEnd(ctx context.Context) bool {
	return ctx.Err() != nil && (operators.Ended(ctx) || s.killed(context.WithoutCancel(ctx), s.id.SiteID, s.id.AttemptID))
}

// attend stores the command, if it is missing, or checks its progress.
func (s *commands) attend(ctx context.Context, c operators.Command, a *asked, first bool) (operators.Exit, error) {
	class, err := s.class(c.Sandbox, a.key, a.losses)
	if err != nil {
		return operators.Exit{}, err
	}
	row, err := Command{}, host.ErrNotFound
	if !first {
		row, err = s.Commands.Command(ctx, s.id.AttemptID, a.key)
	}
	if errors.Is(err, host.ErrNotFound) { // an earlier run may have ended before it stored it
		row, err = s.add(ctx, c, class, a.key)
	}
	if err == nil && row.State == Claimed && !first {
		row, err = s.confirm(ctx, row)
	}
	if err != nil {
		return operators.Exit{}, err
	}
	if row.State == Over && row.Result.Lost {
		if a.losses++; a.losses >= maxLosses {
			return operators.Exit{}, operators.Failf("The command's runner was lost %d times (%s): it may need more memory (sandbox: memory)", a.losses, row.Result.Why)
		}
		a.key = commandKey(s.id)
		if class, err = s.class(c.Sandbox, a.key, a.losses); err != nil {
			return operators.Exit{}, err
		}
		c.Stdout.Write([]byte("zerodag: the machine of this command was lost (" + row.Result.Why + "): it runs again, alone\n")) //nolint:errcheck // a task's log never fails
		if row, err = s.add(ctx, c, class, a.key); err != nil {
			return operators.Exit{}, err
		}
	}
	return s.await(ctx, c, row, class, a)
}

// confirm makes sure that a runner has a command that is claimed: the runner may have left while one of its abandoned
// polls claimed the command. No command is lost before its machine has ended.
func (s *commands) confirm(ctx context.Context, c Command) (Command, error) {
	_, err := s.Runners.Runner(ctx, c.Runner)
	if !errors.Is(err, host.ErrNotFound) {
		return c, err
	}
	place, err := ParseName(c.Runner)
	if err != nil {
		return c, fmt.Errorf("the runner of command %s: %w", c.Key, err)
	}
	over, err := s.Launcher.Ended(ctx, []Runner{place.runner()})
	why, ended := over[c.Runner]
	switch {
	case err != nil: // a machine that cannot be queried has not ended
		return c, fmt.Errorf("query the machine of command %s: %w: %w", c.Key, host.ErrUnavailable, err)
	case !ended:
		return c, nil
	}
	lost, err := s.Commands.End(ctx, c.Attempt, c.Key, c.Runner, Result{Lost: true, Why: why})
	if errors.Is(err, host.ErrConflict) {
		return s.Commands.Command(ctx, c.Attempt, c.Key)
	}
	return lost, err
}

// class determines where the command may run. After a loss it runs alone.
func (s *commands) class(b operators.Sandbox, key string, losses int64) (Class, error) {
	if s.on == operators.OnMicrovm {
		return s.onMicrovm(b, key, losses)
	}
	class, err := s.Default.For(b)
	if err != nil {
		return class, err
	}
	if b.Fresh || losses > 0 {
		class.Alone = key
	}
	return class, s.Launcher.Check(class, Owner{Site: s.id.SiteID, Project: s.id.ProjectName})
}

// add stores the command and returns the stored one.
func (s *commands) add(ctx context.Context, c operators.Command, class Class, key string) (Command, error) {
	nonce := make([]byte, 12)
	rand.Read(nonce) // never fails
	b := c.Sandbox
	if s.on == operators.OnMicrovm && b.Time == 0 {
		b.Time = MicrovmTime
	}
	spec := seal(Spec{Name: run.FolderName(s.id), Args: c.Args, Dir: c.Dir, Env: c.Env, Scratch: c.Scratch, Files: c.Files, Outputs: c.Outputs, Archive: s.archive,
		LogID:  LogID{Site: s.id.SiteID, Attempt: s.id.AttemptID, Task: s.id.TaskName},
		Limits: Limits{Seconds: int64(b.Time / time.Second), Processes: b.Processes, Output: b.Output, Disk: b.Disk, Memory: b.Memory},
	}, c.Secrets, nonce)
	text, err := json.Marshal(spec)
	if err != nil {
		return Command{}, fmt.Errorf("encode command: %w", err)
	}
	return s.Commands.Add(ctx, Command{Attempt: s.id.AttemptID, Key: key, Site: s.id.SiteID, Project: s.id.ProjectID, Task: s.id.TaskName,
		Class: class.Key(), Spec: text, CreatedAt: s.Now(), State: Waiting})
}

// await returns the outcome of a command that has ended or soon will.
func (s *commands) await(ctx context.Context, wanted operators.Command, c Command, class Class, a *asked) (operators.Exit, error) {
	after := slowLook
	if c.State == Waiting {
		if c.Troubles >= maxTroubles {
			return s.giveUp(ctx, c)
		}
		p, err := s.provide(ctx, c, class)
		if err != nil {
			return s.refuse(ctx, c, err)
		}
		if p.warm {
			if c, err = s.watch(ctx, c); err != nil {
				return operators.Exit{}, err
			}
		} else if p.refused != "" {
			fmt.Fprintf(wanted.Stdout, "zerodag: the command waits for a machine: %s\n", p.refused)
		}
		if p.again {
			after = later(int(a.busy))
			a.busy++
		}
	}
	var err error
	if c.State != Over {
		if c, err = s.Commands.Park(ctx, c.Attempt, c.Key, s.id.Dispatch); err != nil {
			return operators.Exit{}, err
		}
	}
	if c.State != Over || c.Result.Lost { // a separate run handles a lost one
		if c.State == Over {
			after = 0
		}
		return operators.Exit{}, &operators.Pending{Status: status(c.Key, a.losses, a.busy), After: after}
	}
	return s.exit(ctx, wanted.Stdout, c)
}

// later returns how long to wait after n refusals: 5 s, 10 s ... 80 s. There is no last retry: the account may get the
// missing capacity, and the task's or attempt's time limit still applies.
func later(n int) time.Duration { return 5 * time.Second << min(n, 4) }

// giveUp ends a command for which no runner could be started.
func (s *commands) giveUp(ctx context.Context, c Command) (operators.Exit, error) {
	return s.refuse(ctx, c, operators.Failf("No machine could be started for the command after %d attempts: %s", c.Troubles, c.Trouble))
}

// refuse ends a command that no runner has, and records the reason.
func (s *commands) refuse(ctx context.Context, c Command, why error) (operators.Exit, error) {
	if errors.Is(why, host.ErrUnavailable) {
		return operators.Exit{}, why
	}
	if _, err := s.Commands.End(ctx, c.Attempt, c.Key, "", Result{Stopped: true}); err != nil && !errors.Is(err, host.ErrConflict) {
		return operators.Exit{}, err
	}
	return operators.Exit{}, why
}

// watch polls for a while a command that a runner can take at once: another run costs more than waiting.
func (s *commands) watch(ctx context.Context, c Command) (Command, error) {
	end := s.Now().Add(patience)
	for wait := 2 * time.Millisecond; c.State != Over && s.Now().Before(end); wait = min(wait+wait/2, 250*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return c, ctx.Err()
		}
		row, err := s.Commands.Command(ctx, c.Attempt, c.Key)
		if err != nil {
			return c, err
		}
		c = row
	}
	return c, nil
}

// exit returns how a command ended, in the form that operators expect.
func (s *commands) exit(ctx context.Context, stdout io.Writer, c Command) (operators.Exit, error) {
	r := c.Result
	if r.Stopped {
		return operators.Exit{}, operators.Failf("The command was stopped")
	}
	if r.LogLost != "" { // the command has had its effect, so this is not a reason to fail
		fmt.Fprintf(stdout, "zerodag: the end of this command's log is missing: %s\n", r.LogLost)
	}
	outputs := map[string][]byte{}
	for name, content := range r.Outputs {
		outputs[name] = content
	}
	for name, key := range r.Blobs {
		content, err := s.Links.Read(ctx, key)
		if err != nil {
			return operators.Exit{}, fmt.Errorf("read %s of the command: %w", name, err)
		}
		outputs[name] = content
	}
	return operators.Exit{Code: r.Code, Signal: r.Signal, Why: r.Why, Outputs: outputs}, nil
}

// Stop implements operators.Commands.
func (s *commands) Stop(ctx context.Context, status *param.Map) error {
	key, err := operators.NewParams(status).StringOr(statusKey, "")
	if err != nil || key == "" {
		return err
	}
	return s.stop(ctx, key)
}

// stop ends a command because its task was killed or timed out, and returns when none of its processes are still
// running, if its machine can report it. The machine continues with the commands of other tasks, and learns about
// the stop when it polls. A machine that a killed attempt no longer needs is stopped, because a signal is faster than
// its next poll.
func (s *commands) stop(ctx context.Context, key string) error {
	c, err := s.Commands.End(ctx, s.id.AttemptID, key, "", Result{Code: 143, Stopped: true})
	if errors.Is(err, host.ErrConflict) || errors.Is(err, host.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if s.killed(ctx, s.id.SiteID, s.id.AttemptID) {
		if err := s.stopNeedless(ctx, c); err != nil {
			return err
		}
	}
	return s.awaitEnd(ctx, c)
}

// stopNeedless stops a stopped command's machine, unless the machine has other commands, because `_cancel` and
// `_finally` commands run after a kill. If no machine had the command, it stops the machines that are starting, unless
// another command waits for them.
func (s *commands) stopNeedless(ctx context.Context, c Command) error {
	var others []Command
	var err error
	if c.Runner != "" {
		others, err = s.Work.Claimed(ctx, c.Attempt, c.Runner)
	} else {
		others, err = s.Work.Waiting(ctx, c.Attempt, c.Class, 1)
	}
	if err != nil || len(others) > 0 {
		return err
	}
	list, err := s.Runners.Runners(ctx, c.Attempt)
	for _, r := range list {
		needless := r.Name() == c.Runner || c.Runner == "" && r.Class == c.Class && r.Seen.IsZero()
		if needless && !r.Fenced {
			err = errors.Join(err, s.dismiss(ctx, r, "the attempt was killed"))
		}
	}
	return err
}

// awaitEnd waits until the machine of a stopped command reports that none of its processes are still running, or until
// nothing more can be expected of that machine.
func (s *commands) awaitEnd(ctx context.Context, c Command) error {
	limit := s.Now().Add(stopTime)
	for wait := 250 * time.Millisecond; c.Runner != "" && !c.Ended && s.Now().Before(limit); wait = min(2*wait, time.Second) {
		r, err := s.Runners.Runner(ctx, c.Runner)
		if errors.Is(err, host.ErrNotFound) || err == nil && (r.Fenced || s.silent(r)) {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		if c, err = s.Commands.Command(ctx, c.Attempt, c.Key); err != nil {
			return err
		}
	}
	return nil
}
