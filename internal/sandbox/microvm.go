package sandbox

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// Time limits of MicroVMs: docs/adr/0055-lambda-microvms.md.
const (
	// MicrovmLife is how long a MicroVM may exist, after which the platform ends it.
	MicrovmLife = 8 * time.Hour
	// MicrovmTime is how long a command may take in a MicroVM. The oldest machine that accepts commands lives longer
	// than that.
	MicrovmTime = 6*time.Hour + 30*time.Minute
	// microvmAge is the age up to which a MicroVM accepts commands.
	microvmAge = time.Hour
	// microvmIdle is the idleTime of a MicroVM: it is shorter because MicroVMs cost more and a new one starts within
	// seconds.
	microvmIdle = 10 * time.Second
)

// endsItself reports whether a machine of the class ends when its program does.
func (c Class) endsItself() bool { return c.On != operators.OnMicrovm }

// idle returns how long an idle runner of the class stays.
func (c Class) idle() time.Duration {
	if c.On == operators.OnMicrovm {
		return microvmIdle
	}
	return idleTime
}

// aged reports whether a runner accepts no more commands because the platform will end its machine.
func (s *Service) aged(r Runner) bool {
	return r.Of.On == operators.OnMicrovm && s.Now().Sub(r.Launched) > microvmAge
}

// Microvms returns the commands of one run of a task, which run in MicroVMs.
func (s *Service) Microvms(id operators.Identity, archive string) operators.Commands {
	return &commands{s, id, archive, operators.OnMicrovm}
}

// onMicrovm returns the class of a command in a MicroVM. Settings that a task may choose on Fargate are fixed by the
// MicroVM image.
func (s *commands) onMicrovm(b operators.Sandbox, key string, losses int64) (Class, error) {
	const instead = ": use a machine instead (sandbox: {executor: fargate})"
	class := s.Microvm
	if b.Docker != nil {
		return class, param.Errorf("docker: the executor microvm runs only the image of the stage (microvmDockerfile)%s", instead)
	}
	if b.Time > MicrovmTime {
		return class, param.Errorf("sandbox: timeout may be at most %v with the executor microvm but is %v%s", MicrovmTime, b.Time, instead)
	}
	var asked []string
	for name, is := range map[string]bool{"cpu": b.CPU > 0, "memory": b.Memory > 0, "disk": b.Disk > 0, "role": b.Role != "", "spot": b.Spot} {
		if is {
			asked = append(asked, name)
		}
	}
	if asked != nil {
		slices.Sort(asked)
		return class, param.Errorf("sandbox: %s cannot be set with the executor microvm, because all its machines are identical%s", strings.Join(asked, ", "), instead)
	}
	if b.Fresh || losses > 0 {
		class.Alone = key
	}
	return class, s.Launcher.Check(class, Owner{Site: s.id.SiteID, Project: s.id.ProjectName})
}

// machineID matches a launcher's ID for a machine.
var machineID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9:/_.-]{1,256}$`) })

// noteMachine stores the launcher's ID for a machine that has joined, if the response to its launch was lost: nothing
// else would find the machine.
func (s *Service) noteMachine(ctx context.Context, r Runner, machine string) error {
	if r.Of.endsItself() || r.Task != "" || !machineID().MatchString(machine) {
		return nil
	}
	if err := s.Runners.Launched(ctx, r.Name(), machine, s.Now()); !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return nil
}

// Sweeper is a Launcher whose machines keep running after their runner has ended.
type Sweeper interface {
	// Sweep ends machines that belong to none of the runners. runners must be complete. Sweep may be repeated.
	Sweep(ctx context.Context, runners []Runner) error
}

// Places is a Launcher that launches each machine in the place of its class.
type Places map[string]Launcher // by Class.On

// errNoPlace reports machines in a place that the deployment no longer has.
var errNoPlace = errors.New("machines of the executor microvm are still running, but the stage no longer has it: deploy the stage with microvms: allowed until they have ended")

// Check implements Launcher.
func (p Places) Check(class Class, of Owner) error {
	l, found := p[class.On]
	if !found {
		return param.Errorf("sandbox: this deployment has no executor %s (deploy with -c microvms=allowed)", class.On)
	}
	return l.Check(class, of)
}

// Launch implements Launcher.
func (p Places) Launch(ctx context.Context, r Runner, ticket string) (string, error) {
	l, found := p[r.Of.On]
	if !found {
		return "", errNoPlace
	}
	return l.Launch(ctx, r, ticket)
}

// Stop implements Launcher.
func (p Places) Stop(ctx context.Context, r Runner, why string) error {
	l, found := p[r.Of.On]
	if !found {
		return errNoPlace
	}
	return l.Stop(ctx, r, why)
}

// split groups runners by their places.
func split(runners []Runner) map[string][]Runner {
	list := map[string][]Runner{}
	for _, r := range runners {
		list[r.Of.On] = append(list[r.Of.On], r)
	}
	return list
}

// Ended implements Launcher: if one place does not respond, the others are still returned.
func (p Places) Ended(ctx context.Context, runners []Runner) (map[string]string, error) {
	over := map[string]string{}
	var failed error
	for on, list := range split(runners) {
		l, found := p[on]
		if !found {
			failed = errors.Join(failed, errNoPlace)
			continue
		}
		some, err := l.Ended(ctx, list)
		failed = errors.Join(failed, err)
		maps.Copy(over, some)
	}
	return over, failed
}

// Sweep implements Sweeper.
func (p Places) Sweep(ctx context.Context, runners []Runner) error {
	own := split(runners)
	var failed error
	for on, l := range p {
		if w, sweeps := l.(Sweeper); sweeps {
			failed = errors.Join(failed, w.Sweep(ctx, own[on]))
		}
	}
	return failed
}
