package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// TestSecretsAway proves that a command whose secrets are temporarily unreadable has not ended: its runner has claimed
// it and asks again.
func TestSecretsAway(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.Secrets = func(context.Context, int64, int64) (map[string]string, error) {
			return nil, fmt.Errorf("ssm: %w: ThrottlingException", host.ErrUnavailable)
		}
		p := b.submit(2, func(c *operators.Command) {
			c.Env = []string{"A=hunter2hunter2"}
			c.Secrets = map[string]string{"k": "hunter2hunter2"}
		})
		r := b.fake.runners[0]
		b.join(r)
		o, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{Free: 4})
		if len(o.Commands) != 0 || !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("handed over without its secrets: %v %v", o, err)
		}
		b.Secrets = func(context.Context, int64, int64) (map[string]string, error) {
			return map[string]string{"k": "hunter2hunter2"}, nil
		}
		exit, err := b.again(2, 2, p)
		if !errors.As(err, &p) {
			t.Errorf("the task is over: %+v %v", exit, err)
		}
	})
}

// TestKeyReadAfterMake proves that no task fails because a new key cannot be read yet.
func TestKeyReadAfterMake(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		reads, text := 0, ""
		b.Keys = &sandbox.Keyring{Read: func(context.Context) (string, error) {
			if reads++; reads < 3 {
				return "", fmt.Errorf("parameter: %w", host.ErrNotFound)
			}
			return text, nil
		}, Make: func(_ context.Context, s string) error { text = s; return nil }}
		_, err := b.For(sandboxtest.Task(1, 2, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}})
		var p *operators.Pending
		if !errors.As(err, &p) {
			t.Errorf("the task fails: %v", err)
		}
	})
}
