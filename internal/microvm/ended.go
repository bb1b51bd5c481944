package microvm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// fewMachines is how many machines are read one by one. If there are more, the running ones are listed first.
const fewMachines = 10

// Ended returns the machines that have ended, with the reasons. A machine that cannot be read is missing from the
// result and adds an error.
func (l *Launcher) Ended(ctx context.Context, runners []sandbox.Runner) (map[string]string, error) {
	over := map[string]string{}
	unnoted := slices.ContainsFunc(runners, func(r sandbox.Runner) bool { return r.Task == "" })
	alive, listed := map[string]bool{}, false
	if unnoted || len(runners) > fewMachines {
		list, err := l.client.live(ctx, l.Image)
		if err != nil {
			return over, border.Translate("list MicroVMs", err)
		}
		for _, i := range list {
			alive[i.MicrovmID] = true
		}
		listed = true
	}
	var failed error
	for _, r := range runners {
		if r.Task == "" {
			if why := l.unnoted(r, runners, alive); why != "" {
				over[r.Name()] = why
			}
			continue
		}
		if listed && alive[r.Task] {
			continue
		}
		why, err := l.ended(ctx, r.Task)
		failed = errors.Join(failed, err)
		if why != "" {
			over[r.Name()] = why
		}
	}
	return over, failed
}

// ended returns the reason why a machine ended; "" while it runs, or if it cannot be read.
func (l *Launcher) ended(ctx context.Context, id string) (string, error) {
	i, err := l.client.get(ctx, id)
	switch {
	case border.Code(err) == "ResourceNotFoundException":
		return sandbox.Gone, nil
	case err != nil:
		return "", border.Translate("describe MicroVM "+id, err)
	case i.State != terminated:
		return "", nil
	case i.StateReason == "":
		return "the machine has ended", nil
	}
	return "the machine has ended: " + i.StateReason, nil
}

// unnoted returns the reason if a runner's machine must have ended although its id is not known: either no unknown
// machine is running, or a machine's maximum lifetime has passed.
func (l *Launcher) unnoted(r sandbox.Runner, runners []sandbox.Runner, alive map[string]bool) string {
	others := 0
	for _, o := range runners {
		if o.Task != "" && alive[o.Task] {
			others++
		}
	}
	if len(alive) == others || l.Now().Sub(r.Launched) > sandbox.MicrovmLife+orphanAge {
		return sandbox.Gone
	}
	return ""
}

// orphanAge is the age at which a machine counts as left over: older than any launch whose response has not been
// recorded yet.
const orphanAge = 10 * time.Minute

// Sweep terminates machines of the image that belong to no runner. While the id of a runner's machine is unknown, it
// terminates none, because any of them might be that machine.
func (l *Launcher) Sweep(ctx context.Context, runners []sandbox.Runner) error {
	known := map[string]bool{}
	for _, r := range runners {
		if r.Task == "" {
			return nil
		}
		known[r.Task] = true
	}
	list, err := l.client.live(ctx, l.Image)
	if err != nil {
		return border.Translate("list MicroVMs", err)
	}
	var failed []string
	for _, i := range list {
		if known[i.MicrovmID] || l.Now().Sub(i.started()) < orphanAge {
			continue
		}
		if err := l.terminate(ctx, i.MicrovmID); err != nil {
			failed = append(failed, err.Error())
		}
	}
	if failed != nil {
		return fmt.Errorf("%d MicroVMs without a runner could not be terminated: %s", len(failed), strings.Join(failed, "; "))
	}
	return nil
}
