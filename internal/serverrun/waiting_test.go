package serverrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/internal/embedded"
	"zerodag/internal/host"
)

// TestWaitForDatabase proves that a server that starts before its database waits for it, logs each change once, and
// immediately reports errors that waiting cannot resolve.
func TestWaitForDatabase(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("%w: connection refused", host.ErrNoDatabase)
	starting := fmt.Errorf("%w: the database system is starting up", host.ErrUnavailable)
	password := fmt.Errorf("%w: %w", host.ErrUnavailable, &pgconn.PgError{Code: "28P01", Message: "password authentication failed"})
	missing := fmt.Errorf("%w: %w", host.ErrUnavailable, &pgconn.PgError{Code: "3D000", Message: "database \"x\" does not exist"})
	newer := errors.New("the schema has version 9")
	for name, c := range map[string]struct {
		answers []error
		err     error
		waits   int
		lines   []string
	}{
		"at once":          {[]error{nil}, nil, 0, nil},
		"later":            {[]error{away, away, away, starting, nil}, nil, 4, []string{"connection refused", "starting up", "the database is available"}},
		"wrong password":   {[]error{password}, password, 0, nil},
		"missing database": {[]error{away, missing}, missing, 1, []string{"connection refused"}},
		"newer schema":     {[]error{newer}, newer, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			var waits []time.Duration
			calls, opened := 0, &embedded.Shared{}
			w := waiting{logger: slog.New(slog.NewTextHandler(&log, nil)), pause: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
			s, err := w.open(t.Context(), func() (*embedded.Shared, error) {
				calls++
				if err := c.answers[calls-1]; err != nil {
					return nil, err
				}
				return opened, nil
			})
			if !errors.Is(err, c.err) || (s == opened) != (c.err == nil) || len(waits) != c.waits {
				t.Errorf("opened: %v, error: %v, waits: %v", s == opened, err, waits)
			}
			lines := strings.Count(log.String(), "\n")
			for _, text := range c.lines {
				if strings.Count(log.String(), text) != 1 {
					t.Errorf("the log does not say %q once:\n%s", text, log.String())
				}
			}
			if lines != len(c.lines) {
				t.Errorf("%d lines, want %d:\n%s", lines, len(c.lines), log.String())
			}
		})
	}
}

// TestStopWhileWaiting proves that a server that waits for its database can be stopped.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	w := waiting{logger: slog.New(slog.DiscardHandler), pause: func(context.Context, time.Duration) error { stop(); return ctx.Err() }}
	s, err := w.open(ctx, func() (*embedded.Shared, error) { return nil, host.ErrNoDatabase })
	if s != nil || err != nil {
		t.Errorf("it ends with %v, %v", s, err)
	}
}
