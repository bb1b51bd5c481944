package serverrun

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/shared"
	"zerodag/internal/systemd"
)

// The pauses between attempts to reach the database at startup: the first one and the longest one.
const (
	firstPause = time.Second
	mostPause  = 15 * time.Second
)

// waiting opens the stores of a server that starts before its database.
type waiting struct {
	unit   *systemd.Unit
	logger *slog.Logger
	pause  func(context.Context, time.Duration) error
}

// open opens the stores, however long that takes, until ctx ends: then it returns nil without an error. It returns
// errors that waiting does not resolve, such as a wrong password. Each cause is logged once.
func (w waiting) open(ctx context.Context, open func() (*embedded.Shared, error)) (*embedded.Shared, error) {
	last := ""
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		s, err := open()
		switch {
		case err == nil:
			if last != "" {
				w.logger.Info("the database is available")
			}
			return s, nil
		case ctx.Err() != nil:
			return nil, nil //nolint:nilerr,nilnil // it was asked to stop, which is not a failure
		case !errors.Is(err, host.ErrUnavailable) || shared.Rejected(err):
			return nil, err
		}
		if cause := withoutNumbers(err.Error()); cause != last {
			w.logger.Warn("waiting for the database", "error", err)
			notify(w.logger, w.unit.Status("Waits for the database: "+err.Error()))
			last = cause
		}
		if w.pause(ctx, pause) != nil {
			return nil, nil //nolint:nilerr,nilnil // as above
		}
	}
}

// withoutNumbers removes the numbers from an error, so that errors that differ only in a local port are equal.
func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, text)
}
