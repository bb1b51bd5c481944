package docker

import (
	"cmp"
	"context"
	"strings"
	"time"

	"zerodag/internal/limits"
	"zerodag/operators"
)

// Intervals between checks of a container: of its disk, which is ours, and of its processes, which requires a query to
// the engine.
const (
	diskTime    = time.Second
	processTime = 5 * time.Second
)

// watch ends the container if it exceeds its limits, and returns when the container has ended. The engine enforces the
// CPU and memory limits, and allows no more processes than the limit.
func (r *run) watch() {
	var late <-chan time.Time
	if limit := r.command.Sandbox.Time; limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	disk, processes := time.NewTicker(diskTime), time.NewTicker(processTime)
	defer disk.Stop()
	defer processes.Stop()
	crowded := 0
	for {
		select {
		case <-r.over:
			return
		case <-late:
			r.end(operators.TooLong(r.command.Sandbox.Time))
		case <-disk.C:
			if r.disk.Full() {
				r.end(operators.TooMuchDisk(r.command.Sandbox.Disk))
			}
		case <-processes.C:
			// A fork bomb stays at the limit; other commands reach it only by chance.
			if crowded++; !r.crowded() {
				crowded = 0
			}
			if crowded >= 2 {
				r.end(operators.TooManyProcesses(r.processes()))
			}
		}
	}
}

// crowded reports whether the container has nearly the maximum number of processes. One of them belongs to the engine,
// and threads count as processes.
func (r *run) crowded() bool {
	out, err := ask(context.Background(), r.settings.program, "top", r.name)
	if err != nil {
		return false
	}
	limit := r.processes()
	return strings.Count(strings.TrimSpace(out), "\n") >= limit-limit/20
}

func (r *run) tooMuchOutput() {
	limit := cmp.Or(r.command.Sandbox.Output, limits.DefaultOutput)
	r.why.Set(operators.TooMuchOutput(limit))
	go r.kill() // the output must still be read in the meantime
}

// end forces the container to end, for a reason.
func (r *run) end(why string) {
	r.why.Set(why)
	r.kill()
}

// stop asks the container to end and, after the grace time, forces it.
func (r *run) stop(ctx context.Context) {
	grace := r.driver.options.Grace
	if r.driver.options.KillNow {
		grace = 0
	}
	if grace = r.command.GraceFor(ctx, grace); grace > 0 {
		if _, err := ask(context.Background(), r.settings.program, "kill", "--signal", "TERM", r.name); err == nil {
			select {
			case <-r.over:
				return
			case <-time.After(grace):
			case <-r.driver.options.Cut:
			}
		}
	}
	r.kill()
}

// kill forces the container to end. A container that does not exist yet, for example because its image is being
// fetched, is never created, because its client ends.
func (r *run) kill() {
	if _, err := ask(context.Background(), r.settings.program, "kill", r.name); err == nil {
		select {
		case <-r.over:
			return
		case <-time.After(r.driver.options.Grace):
		}
	}
	select {
	case <-r.over:
	default:
		endClient(r.client.Process)
	}
}
