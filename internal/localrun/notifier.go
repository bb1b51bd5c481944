package localrun

import (
	"context"
	"fmt"

	"zerodag/internal/configuration"
	"zerodag/operators"
)

// silent notifies no one, which is Digdag's default.
type silent struct{}

func (silent) Notify(context.Context, string, *operators.Task) error { return nil }

func (silent) NotifySlow(context.Context, string, *operators.Task) error { return nil }

// newNotifier chooses how users are notified of failures. The user who started `run` watches it. Notifications are for
// servers, and configuring them for a run is an error.
func newNotifier(s configuration.Settings) (operators.Notifier, error) {
	if kind := s["notification.type"]; kind != "" {
		return nil, fmt.Errorf("configuration key notification.type is %q, but `run` sends no notifications: remove it, or use `_error` with mail> or http>", kind)
	}
	return silent{}, nil
}
