// Package sandboxtest contains the contract of the ports of package sandbox as a test suite, and an in-memory store
// that passes it: the model that tests and benchmarks run on.
package sandboxtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// Memory keeps commands and runners.
type Memory struct {
	mu       sync.Mutex
	commands map[string]*sandbox.Command
	runners  map[string]*sandbox.Runner // by slot
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{commands: map[string]*sandbox.Command{}, runners: map[string]*sandbox.Runner{}}
}

func id(attempt int64, key string) string { return fmt.Sprintf("%d/%s", attempt, key) }

// Add implements sandbox.Commands.
func (m *Memory) Add(_ context.Context, c sandbox.Command) (sandbox.Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if there := m.commands[id(c.Attempt, c.Key)]; there != nil {
		return bare(there), nil
	}
	m.commands[id(c.Attempt, c.Key)] = &c
	return bare(&c), nil
}

func bare(c *sandbox.Command) sandbox.Command {
	out := *c
	out.Spec = nil
	return out
}

// Command implements sandbox.Commands.
func (m *Memory) Command(_ context.Context, attempt int64, key string) (sandbox.Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.commands[id(attempt, key)]
	if c == nil {
		return sandbox.Command{}, host.ErrNotFound
	}
	return bare(c), nil
}

// Waiting implements sandbox.Work.
func (m *Memory) Waiting(_ context.Context, attempt int64, class string, n int) ([]sandbox.Command, error) {
	list := m.all(func(c *sandbox.Command) bool {
		return c.Attempt == attempt && c.Class == class && c.State == sandbox.Waiting
	})
	if n > 0 && len(list) > n {
		list = list[:n]
	}
	return list, nil
}

func (m *Memory) all(which func(*sandbox.Command) bool) []sandbox.Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []sandbox.Command
	for _, c := range m.commands {
		if which(c) {
			list = append(list, bare(c))
		}
	}
	slices.SortFunc(list, func(a, b sandbox.Command) int {
		if d := a.CreatedAt.Compare(b.CreatedAt); d != 0 {
			return d
		}
		return strings.Compare(a.Key, b.Key)
	})
	return list
}

// change changes a command if may allows it, and returns the changed command.
func (m *Memory) change(attempt int64, key string, may func(*sandbox.Command) bool, do func(*sandbox.Command)) (sandbox.Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.commands[id(attempt, key)]
	if c == nil {
		return sandbox.Command{}, host.ErrNotFound
	}
	if !may(c) {
		return *c, host.ErrConflict
	}
	do(c)
	return *c, nil
}

// Claim implements sandbox.Work.
func (m *Memory) Claim(_ context.Context, attempt int64, key, runner string) (sandbox.Command, error) {
	c, err := m.change(attempt, key, func(c *sandbox.Command) bool {
		return c.State == sandbox.Waiting || c.State == sandbox.Claimed && c.Runner == runner
	}, func(c *sandbox.Command) { c.State, c.Runner = sandbox.Claimed, runner })
	if err != nil {
		return sandbox.Command{}, err
	}
	return c, nil
}

// Claimed implements sandbox.Work.
func (m *Memory) Claimed(_ context.Context, attempt int64, runner string) ([]sandbox.Command, error) {
	return m.all(func(c *sandbox.Command) bool {
		return c.Attempt == attempt && c.Runner == runner && c.State == sandbox.Claimed
	}), nil
}

func open(c *sandbox.Command) bool { return c.State != sandbox.Over }

// Park implements sandbox.Commands.
func (m *Memory) Park(_ context.Context, attempt int64, key string, dispatch int) (sandbox.Command, error) {
	c, err := m.change(attempt, key, open, func(c *sandbox.Command) { c.Parked = dispatch })
	if errors.Is(err, host.ErrNotFound) {
		return sandbox.Command{}, err
	}
	return bare(&c), nil
}

// End implements sandbox.Commands.
func (m *Memory) End(_ context.Context, attempt int64, key, runner string, r sandbox.Result) (sandbox.Command, error) {
	c, err := m.change(attempt, key, func(c *sandbox.Command) bool {
		return (open(c) || reflect.DeepEqual(c.Result, r)) && (runner == "" || c.Runner == runner)
	},
		func(c *sandbox.Command) { c.State, c.Result = sandbox.Over, r })
	if err != nil {
		return sandbox.Command{}, host.ErrConflict
	}
	return bare(&c), nil
}

// Ended implements sandbox.Work.
func (m *Memory) Ended(_ context.Context, attempt int64, key, runner string) error {
	_, err := m.change(attempt, key, func(c *sandbox.Command) bool { return c.State == sandbox.Over && c.Runner == runner }, func(c *sandbox.Command) { c.Ended = true })
	return err
}

// Note implements sandbox.Work.
func (m *Memory) Note(_ context.Context, attempt int64, key, trouble string) (sandbox.Command, error) {
	c, err := m.change(attempt, key, func(c *sandbox.Command) bool { return trouble == "" || c.State == sandbox.Waiting }, func(c *sandbox.Command) {
		if trouble != "" {
			c.Trouble, c.Troubles = trouble, c.Troubles+1
		}
	})
	if err != nil {
		return sandbox.Command{}, err
	}
	return bare(&c), nil
}

func slot(r sandbox.Place) string { return fmt.Sprintf("%d-%s-%d", r.Attempt, r.Class, r.Slot) }

// AddRunner implements sandbox.Registry.
func (m *Memory) AddRunner(_ context.Context, r sandbox.Runner) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := sandbox.ParseName(r.Name())
	if err != nil {
		return err
	}
	if there := m.runners[slot(p)]; there != nil && there.ID != r.ID {
		return host.ErrConflict
	}
	m.runners[slot(p)] = &r
	return nil
}

// found returns a runner; the lock must be held.
func (m *Memory) found(name string) (*sandbox.Runner, string) {
	p, err := sandbox.ParseName(name)
	if err != nil {
		return nil, ""
	}
	if r := m.runners[slot(p)]; r != nil && r.ID == p.ID {
		return r, slot(p)
	}
	return nil, ""
}

// Runner implements sandbox.Registry.
func (m *Memory) Runner(_ context.Context, name string) (sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	if r == nil {
		return sandbox.Runner{}, host.ErrNotFound
	}
	return *r, nil
}

// Runners implements sandbox.Registry.
func (m *Memory) Runners(_ context.Context, attempt int64) ([]sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []sandbox.Runner
	for _, key := range slices.Sorted(maps.Keys(m.runners)) {
		if r := m.runners[key]; attempt == 0 || r.Attempt == attempt {
			list = append(list, *r)
		}
	}
	return list, nil
}

// alter changes a runner that exists and is not fenced.
func (m *Memory) alter(name string, do func(*sandbox.Runner)) (sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	if r == nil || r.Fenced {
		return sandbox.Runner{}, host.ErrNotFound
	}
	do(r)
	return *r, nil
}

// Ask implements sandbox.Liveness.
func (m *Memory) Ask(_ context.Context, name string) error {
	_, err := m.alter(name, func(r *sandbox.Runner) { r.Asked++ })
	return err
}

// Join implements sandbox.Liveness.
func (m *Memory) Join(_ context.Context, name string, hash []byte, at time.Time) (sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	switch {
	case r != nil && r.Hash != nil && !bytes.Equal(r.Hash, hash):
		return *r, host.ErrConflict
	case r == nil || r.Fenced:
		return sandbox.Runner{}, host.ErrNotFound
	case r.Hash == nil:
		r.Hash, r.Seen = hash, at
	}
	return *r, nil
}

// Beat implements sandbox.Liveness.
func (m *Memory) Beat(_ context.Context, name string, at time.Time, load int) (sandbox.Runner, error) {
	return m.alter(name, func(r *sandbox.Runner) { r.Seen, r.Load = at, load })
}

// Launched implements sandbox.Registry.
func (m *Memory) Launched(_ context.Context, name, task string, at time.Time) error {
	_, err := m.alter(name, func(r *sandbox.Runner) { r.Task, r.Refused, r.Launched = task, "", at })
	return err
}

// Refused implements sandbox.Registry.
func (m *Memory) Refused(_ context.Context, name, why string, at time.Time) error {
	_, err := m.alter(name, func(r *sandbox.Runner) { r.Refused, r.Launched = why, at })
	return err
}

// Fence implements sandbox.Fences.
func (m *Memory) Fence(_ context.Context, name, why string) (sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	switch {
	case r == nil:
		return sandbox.Runner{}, host.ErrNotFound
	case r.Fenced:
		return *r, host.ErrConflict
	}
	r.Fenced, r.Why = true, why
	return *r, nil
}

// Leave implements sandbox.Liveness.
func (m *Memory) Leave(_ context.Context, name string, asked int) error {
	conflict := false
	_, err := m.alter(name, func(r *sandbox.Runner) {
		if conflict = r.Asked != asked; !conflict {
			r.Fenced, r.Left = true, true
		}
	})
	if conflict {
		err = host.ErrConflict
	}
	return err
}

// ShownTwice implements sandbox.Fences.
func (m *Memory) ShownTwice(_ context.Context, name, why string) (sandbox.Runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	if r == nil {
		return sandbox.Runner{}, host.ErrNotFound
	}
	r.Fenced, r.Twice, r.Why = true, true, cmp.Or(r.Why, why)
	return *r, nil
}

// Told implements sandbox.Fences.
func (m *Memory) Told(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.found(name)
	if r == nil {
		return host.ErrNotFound
	}
	r.Told = true
	return nil
}

// Remove implements sandbox.Registry.
func (m *Memory) Remove(_ context.Context, name string, asked int) error {
	return m.remove(name, asked, func(*sandbox.Runner) bool { return true })
}

// Discard implements sandbox.Registry.
func (m *Memory) Discard(_ context.Context, name string, asked int) error {
	return m.remove(name, asked, func(r *sandbox.Runner) bool { return r.Seen.IsZero() })
}

func (m *Memory) remove(name string, asked int, may func(*sandbox.Runner) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, key := m.found(name)
	if r == nil {
		return nil
	}
	if asked >= 0 && r.Asked != asked || !may(r) {
		return host.ErrConflict
	}
	delete(m.runners, key)
	return nil
}

// Keys returns a key ring with a new key.
func Keys() *sandbox.Keyring {
	text := ""
	return &sandbox.Keyring{
		Read: func(context.Context) (string, error) {
			if text == "" {
				return "", host.ErrNotFound
			}
			return text, nil
		},
		Make: func(_ context.Context, made string) error { text = made; return nil },
	}
}
